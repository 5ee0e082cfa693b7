"""Records as results of the standard, and what strangers may not smuggle in by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.remote import reapi_pb2
from qnnbuild.remote.cache import Wrong
from qnnbuild.remote.result import asked, found_in, is_safe, record_of, result_of

PARTS = {"step": "context"}
KEY = key_of(PARTS)
A, B = digest_bytes(b"a"), digest_bytes(b"bb")
RECORD = Record(
    key=KEY,
    name="context/m@SM8750",
    step="context",
    parts=PARTS,
    outputs={"context": Tree(files={"x/m.bin": (A, 1), "m.onnx": (B, 2)})},
    warnings=("mind this",),
    seconds=2.5,
    peak_bytes=7,
    made="2026-01-02T03:04:05+00:00",
)


def read(result: bytes, text: bytes | None = None, **more: Any) -> Record:
    found = found_in(result, ("context",))
    values = {"key": KEY, "name": "mine", "step": "context", "parts": PARTS, **more}
    return record_of(found, found.record.contents if text is None else text, **values)


def changed(**fields: Any) -> bytes:
    """The result as it should be, with these fields of it replaced."""
    result = reapi_pb2.ActionResult()
    result.ParseFromString(result_of(RECORD, None)[0])
    for name, value in fields.items():
        if name == "output_files":
            del result.output_files[:]
            result.output_files.extend(value)
        else:
            setattr(result, name, value)
    return bytes(result.SerializeToString())


def files(*more: Any) -> list[Any]:
    result = reapi_pb2.ActionResult()
    result.ParseFromString(result_of(RECORD, None)[0])
    return [*result.output_files, *more]


def file(path: str, digest: str = A, size: int = 1) -> Any:
    return reapi_pb2.OutputFile(path=path, digest=reapi_pb2.Digest(hash=digest, size_bytes=size))


def test_a_record_comes_back_as_it_was_under_the_name_of_here() -> None:
    result, _ = result_of(RECORD, b"log")

    assert read(result) == replace(RECORD, name="mine")


def test_the_digest_of_what_is_asked_stands_still() -> None:
    wanted = asked("ab" * 32, "context", ("context", "facts"))

    assert wanted.digest == "7361867fe7a738928a36e6fd1d33b0f0a8fe7b36aa06f8e6767cd96b48f02cbe"


def test_the_log_is_what_the_action_said() -> None:
    told = reapi_pb2.ActionResult()
    told.ParseFromString(result_of(RECORD, b"log")[0])

    assert told.stdout_digest.hash == digest_bytes(b"log")
    assert [f.path for f in told.output_files] == [
        "record.json",
        "context/m.onnx",
        "context/x/m.bin",
    ]


@pytest.mark.parametrize(
    "result",
    [
        b"<html>no such page</html>",
        b"",
        changed(exit_code=1),
        changed(output_files=files()[1:]),
        changed(output_files=files()[:1]),
        changed(output_files=files(file("context/../../escaped"))),
        changed(output_files=files(file("context//etc/passwd"))),
        changed(output_files=files(file("context/a\x00b"))),
        changed(output_files=files(file("context/m.onnx"))),
        changed(output_files=files(file("context/m.onnx/inside"))),
        changed(output_files=files(file("other/m.onnx"))),
        changed(output_files=files(file("context/big", size=1 << 50))),
        changed(output_files=files(file("context/less", size=-1))),
        changed(output_files=files(file("context/odd", digest="../../x"))),
        changed(output_files=files(file("context/more"))),
    ],
)
def test_a_result_that_cannot_be_is_refused(result: bytes) -> None:
    with pytest.raises(Wrong):
        read(result)


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, key=A),
        replace(RECORD, step="bundle"),
        replace(RECORD, outputs={"context": Tree(files={"m.onnx": (B, 2)})}),
        replace(RECORD, seconds=float("nan")),
        replace(RECORD, seconds=-1.0),
        replace(RECORD, peak_bytes=1 << 60),
        replace(RECORD, warnings=(1,)),  # type: ignore[arg-type] # that is what is wrong with it
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: Record) -> None:
    text = record.to_json().encode()
    told = file("record.json", digest_bytes(text), len(text))
    result = changed(output_files=[told, *files()[1:]])
    with pytest.raises(Wrong):
        read(result, text)


def test_a_record_that_is_not_what_its_digest_says_is_refused() -> None:
    result, text = result_of(RECORD, None)
    with pytest.raises(Wrong):
        read(result, text.replace(b"mind", b"mint"))


def test_warnings_of_strangers_cannot_steer_a_terminal() -> None:
    record = replace(RECORD, warnings=("a\x1b[2Jb\r",))
    result, _ = result_of(record, None)

    assert read(result).warnings == ("a[2Jb",)


def test_what_a_key_is_made_of_is_known_here_already() -> None:
    result, _ = result_of(replace(RECORD, parts={"step": "lie"}), None)

    assert read(result).parts == PARTS


@pytest.mark.parametrize("path", ["a", "a/b.c", "ä/日本", "..a", "a b"])
def test_paths_that_stay_inside_are_safe(path: str) -> None:
    assert is_safe(path)


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "a/./b", "../a", "a\nb", "\ud800", "x" * 256]
)
def test_other_paths_are_not(path: str) -> None:
    assert not is_safe(path)
