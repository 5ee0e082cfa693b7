"""Templates that were compiled before: compiling takes 0.3 s, which each build would pay again."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress
from pathlib import Path

from jinja2 import Environment, __version__
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from qnnbuild.digest import digest_bytes

FOLDER = Path(__file__).parent / "__pycache__"
"""Where Python keeps what it has compiled of this folder, on the same terms."""


class Compiled(FileSystemBytecodeCache):
    """What else changes what a text compiles to is in the names: Jinja2, and settings of ours."""

    def __init__(self, environment: Environment) -> None:
        escapes, undefined = environment.autoescape, environment.undefined.__name__
        blocks = (environment.trim_blocks, environment.lstrip_blocks)
        settings = repr((escapes, undefined, *blocks, sorted(environment.filters)))
        digest = digest_bytes(settings.encode())[:12]
        super().__init__(str(FOLDER), f"%s.jinja2-{__version__}-{digest}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):  # a package that is read only works as well
                super().dump_bytecode(bucket)

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except (OSError, ValueError, EOFError, TypeError, pickle.UnpicklingError):
            bucket.reset()  # cut or damaged: it is compiled, and kept, again
