"""A record: what one run of an action took and made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from qnnbuild.digest import Digest, Json, digest_json


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The files of one input or output: relative path → digest and size in bytes."""

    files: Mapping[str, tuple[Digest, int]]

    @cached_property
    def digest(self) -> Digest:
        """Contents and relative names, nothing else."""
        return digest_json({path: digest for path, (digest, _) in self.files.items()})

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files.values())


@dataclass(frozen=True, kw_only=True)
class Record:
    key: Digest
    name: str  # under which name it ran first; another name may share the key
    step: str
    parts: Mapping[str, Json]  # what the key is made of
    outputs: Mapping[str, Tree]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    peak_bytes: int = 0  # resident memory of the run at its highest
    made: str = ""  # UTC, ISO 8601

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Raises ValueError when the text is not a record."""
        try:
            data = json.loads(text)
            data["outputs"] = {
                name: Tree(files={p: (str(d), int(s)) for p, (d, s) in tree["files"].items()})
                for name, tree in data["outputs"].items()
            }
            data["warnings"] = tuple(data["warnings"])
            return cls(**data)
        except (AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"not a record: {error!r}") from error
