"""A compiler for another system, as an archive of one makes it: the host's, whose libraries say so.

A reader of ELF files sees no difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.libraries import ARM64
from tests.standin.lay_out import COMPILERS as HOSTS
from tests.standin.tools.cross import COMPILERS

PROGRAM = """\
#!{python}
import shutil
import struct
import subprocess
import sys

compiler = next(filter(None, map(shutil.which, {hosts!r})))
code = subprocess.call([compiler, *sys.argv[1:]])
if code == 0:
    path = sys.argv[sys.argv.index("-o") + 1]
    with open(path, "rb") as made:
        data = bytearray(made.read())
    struct.pack_into("<H", data, 18, {machine})
    with open(path, "wb") as made:
        made.write(data)
sys.exit(code)
"""


def lay_out_cross(folder: Path, system: str, machine: int = ARM64) -> dict[str, str]:
    """The folders by the variables that name them."""
    variables, compiler = COMPILERS[system]
    root = folder / system
    program = root / compiler
    program.parent.mkdir(parents=True, exist_ok=True)
    text = PROGRAM.format(python=sys.executable, hosts=HOSTS, machine=machine)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    (root / "target").mkdir(exist_ok=True)
    return {name: str(root if n == 0 else root / "target") for n, name in enumerate(variables)}
