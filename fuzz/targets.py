"""Every reader of what strangers wrote, by name.

A target may refuse its input with its own error. Whatever else it raises, takes minutes for, or
grows without bounds for is a finding.
"""

from __future__ import annotations

from functools import cache

from fuzz.files import FILES
from fuzz.formats import FORMATS
from fuzz.imported import MODELS, WORDS
from fuzz.sent import SENT
from fuzz.shipped import SHIPPED
from fuzz.target import Target, of_files, of_formats
from fuzz.texts import TEXTS


@cache
def targets() -> dict[str, Target]:
    """Importing what they read with is left to the first input."""
    return {
        **{
            name: Target(reads=of_formats(read), seeds=seeds, most_bytes=1 << 19)
            for name, (read, seeds) in FORMATS.items()
        },
        **{
            name: Target(reads=of_files(read, file), seeds=seeds)
            for name, (read, file, seeds) in FILES.items()
        },
        **{
            name: Target(reads=read, seeds=seeds, most_bytes=1 << 12)
            for name, (read, seeds) in (TEXTS | WORDS).items()
        },
        **{
            name: Target(reads=read, seeds=seeds)
            for name, (read, seeds) in (SENT | MODELS | SHIPPED).items()
        },
    }
