"""A record as a standard ActionResult, so that any cache of the Remote Execution API holds it.

The action's digest is made of the key alone: a Command that names the step and its outputs, an
empty input folder, and the key as the Action's salt. The result lists the artifacts as output
files, and the record itself as one more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from google.protobuf.message import DecodeError

from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import Digest, Json, digest_bytes
from qnnbuild.remote import reapi_pb2
from qnnbuild.remote.cache import Wrong

RECORD = "record.json"
"""The record's path in a result; artifacts lie below the name of their output."""

SIGNATURE = "record.json.sig"
"""The path of what proves who wrote the record, where somebody signed it."""

LARGEST_SIGNATURE = 16 << 10

LARGEST = 1 << 40
"""Bytes of one artifact: a result that promises more is no result of ours."""

MOST_FILES = 100_000

INLINE = 256 << 10
"""Up to this many bytes a record travels inside the result, which saves asking twice."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for: an action's key as the standard names it."""

    action: bytes
    command: bytes
    root: bytes

    @property
    def digest(self) -> Digest:
        return digest_bytes(self.action)

    @property
    def parts(self) -> tuple[bytes, ...]:
        """What a server wants to have before it takes a result."""
        return (self.action, self.command, self.root)


def asked(key: Digest, step: str, outputs: Sequence[str]) -> Asked:
    command = reapi_pb2.Command(arguments=["qnnbuild", step], output_paths=sorted(outputs))
    root = _bytes(reapi_pb2.Directory())
    action = reapi_pb2.Action(
        command_digest=_digest(_bytes(command)),
        input_root_digest=_digest(root),
        salt=bytes.fromhex(key),
    )
    return Asked(action=_bytes(action), command=_bytes(command), root=root)


def result_of(
    record: Record, log: bytes | None, signature: bytes | None = None
) -> tuple[bytes, bytes]:
    """The result, and the record as text, which is to be uploaded too, as is the signature."""
    text = record.to_json().encode()
    result = reapi_pb2.ActionResult(
        output_files=[
            _inline(RECORD, text),
            *([_inline(SIGNATURE, signature)] if signature is not None else ()),
            *(
                reapi_pb2.OutputFile(
                    path=f"{output}/{path}",
                    digest=reapi_pb2.Digest(hash=digest, size_bytes=size),
                )
                for output, tree in sorted(record.outputs.items())
                for path, (digest, size) in sorted(tree.files.items())
            ),
        ],
        stdout_digest=_digest(log) if log is not None else None,
    )
    return _bytes(result), text


def _inline(path: str, data: bytes) -> Any:
    """A file that travels inside the result; servers may take it out and keep it as any other."""
    contents = data if len(data) <= INLINE else b""
    return reapi_pb2.OutputFile(path=path, digest=_digest(data), contents=contents)


@dataclass(frozen=True, kw_only=True)
class Enclosed:
    """A small file of a result: its contents, or where they are."""

    digest: Digest
    size: int
    contents: bytes  # none, when they did not come along


@dataclass(frozen=True, kw_only=True)
class Found:
    """A result as it came, with everything in it that can be wrong looked at."""

    outputs: Mapping[str, Tree]
    record: Enclosed
    signature: Enclosed | None


def found_in(result: bytes, outputs: Sequence[str]) -> Found:
    """Raises Wrong when it cannot be what an action with these outputs made."""
    told = reapi_pb2.ActionResult()
    try:
        told.ParseFromString(result)
    except DecodeError as error:
        raise Wrong("what is no result") from error
    if told.exit_code != 0 or len(told.output_files) > MOST_FILES:
        raise Wrong("a result that nobody of ours wrote")
    files: dict[str, dict[str, tuple[Digest, int]]] = {name: {} for name in outputs}
    enclosed: dict[str, Enclosed] = {}
    for file in told.output_files:
        digest = (file.digest.hash, file.digest.size_bytes)
        if not _DIGEST.fullmatch(digest[0]) or not 0 <= digest[1] <= LARGEST:
            raise Wrong("a result with a file of no digest or no size")
        if file.path in ENCLOSED:
            enclosed[file.path] = Enclosed(digest=digest[0], size=digest[1], contents=file.contents)
            continue
        output, _, path = file.path.partition("/")
        if output not in files or not is_safe(path) or path in files[output]:
            raise Wrong("a result with a file that the action does not make")
        files[output][path] = digest
    if RECORD not in enclosed or not _fit(files):
        raise Wrong("a result that lacks what the action makes")
    if any(one.size > ENCLOSED[path] for path, one in enclosed.items()):
        raise Wrong("a result with a record that is too large")
    trees = {name: Tree(files=dict(sorted(tree.items()))) for name, tree in files.items()}
    return Found(outputs=trees, record=enclosed[RECORD], signature=enclosed.get(SIGNATURE))


LARGEST_RECORD = 8 << 20
ENCLOSED = {RECORD: LARGEST_RECORD, SIGNATURE: LARGEST_SIGNATURE}
"""What a result may have beside the action's outputs, and how many bytes at most."""


def _fit(files: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether each output has files, and none of them is where another's folder must be."""
    return all(
        tree
        and not any(
            parent.as_posix() in tree for path in tree for parent in PurePosixPath(path).parents
        )
        for tree in files.values()
    )


def is_safe(path: str) -> bool:
    """Whether a path stays inside its folder and is written in the one way it can be."""
    if not path or _NO_NAME.search(path) or len(path.encode()) > 4096:
        return False
    parts = path.split("/")
    return all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)


def record_of(
    found: Found, text: bytes, *, key: Digest, name: str, step: str, parts: Mapping[str, Json]
) -> Record:
    """The record of a result. What the build knows itself is taken from nobody else.

    Raises Wrong when the text is of another key or does not fit the result.
    """
    if (digest_bytes(text), len(text)) != (found.record.digest, found.record.size):
        raise Wrong("a record that is not what its digest says")
    try:
        told = Record.from_json(text.decode())
        fits = told.key == key and told.step == step and told.outputs == found.outputs
        warnings = tuple(_line(warning) for warning in told.warnings[:100])
        numbers = (float(told.seconds), int(told.peak_bytes))
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise Wrong("what is no record") from error
    if not fits:
        raise Wrong("the record of another action")
    if not (math.isfinite(numbers[0]) and 0 <= numbers[0] < 1e9 and 0 <= numbers[1] <= LARGEST):
        raise Wrong("a record with numbers that cannot be")
    return Record(
        key=key,
        name=name,
        step=step,
        parts=parts,
        outputs=found.outputs,
        warnings=warnings,
        seconds=numbers[0],
        peak_bytes=numbers[1],
        made=_line(told.made)[:40],
    )


def _line(text: Any) -> str:
    """Text of strangers, for a terminal."""
    if not isinstance(text, str):
        raise TypeError("no text")
    return _CONTROL.sub("", text)[:2000]


def _digest(data: bytes) -> Any:
    return reapi_pb2.Digest(hash=digest_bytes(data), size_bytes=len(data))


def _bytes(message: Any) -> bytes:
    """One spelling each time: these bytes are digested."""
    data: bytes = message.SerializeToString(deterministic=True)
    return data
