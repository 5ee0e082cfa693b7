"""A shared folder, which is what fsspec knows without a network."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.remote import objects
from qnnbuild.remote.cache import GONE, Content, Landing, Trouble
from qnnbuild.remote.objects import ObjectCache

ACTION = "1" * 64
FILES = {digest_bytes(data): data for data in (b"", b"small", b"larger than small")}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    monkeypatch.setattr(objects, "AT_ONCE", 10)  # so that the largest goes as a stream
    return ObjectCache(f"file://{tmp_path}/shared", folder="main", timeout_s=5)


def pushed(cache: ObjectCache) -> None:
    cache.upload(
        [
            Content(digest=digest, size=len(data), opened=lambda data=data: io.BytesIO(data))  # type: ignore[misc] # mypy takes no default there
            for digest, data in FILES.items()
        ]
    )


def landings(folder: Path) -> list[Landing]:
    return [
        Landing(digest=digest, size=len(data), path=folder / digest)
        for digest, data in FILES.items()
    ]


def test_what_is_sent_comes_back(cache: ObjectCache, tmp_path: Path) -> None:
    pushed(cache)
    failed = cache.fetch(landings(tmp_path))

    assert failed == {}
    assert {d: (tmp_path / d).read_bytes() for d in FILES} == FILES
    assert cache.missing({digest: len(data) for digest, data in FILES.items()}) == set()


def test_a_folder_has_the_plain_form_s_layout_and_nothing_half(
    cache: ObjectCache, tmp_path: Path
) -> None:
    pushed(cache)
    cache.put_result(ACTION, 3, b"result")
    shared = tmp_path / "shared" / "main"

    assert sorted(p.relative_to(shared).as_posix() for p in shared.rglob("*") if p.is_file()) == [
        f"ac/{ACTION}",
        *sorted(f"cas/{digest}" for digest in FILES),
    ]


def test_a_result_comes_back_and_another_is_none(cache: ObjectCache) -> None:
    cache.put_result(ACTION, 3, b"result")

    assert cache.result(ACTION, 3) == b"result"
    assert cache.result("2" * 64, 3) is None


def test_what_is_not_there_is_gone(cache: ObjectCache, tmp_path: Path) -> None:
    failed = cache.fetch(landings(tmp_path))

    assert failed == {digest: GONE for digest, data in FILES.items() if data}


@pytest.mark.parametrize("change", [lambda d: d[:-1], lambda d: d + b"!", lambda d: b"X" + d[1:]])
def test_what_somebody_changed_is_told(cache: ObjectCache, tmp_path: Path, change) -> None:
    pushed(cache)
    digest = digest_bytes(b"small")
    file = tmp_path / "shared/main/cas" / digest
    file.write_bytes(change(file.read_bytes()))
    failed = cache.fetch(landings(tmp_path))

    assert failed.keys() == {digest}


def test_half_of_a_file_counts_as_missing(cache: ObjectCache, tmp_path: Path) -> None:
    pushed(cache)
    digest = digest_bytes(b"small")
    (tmp_path / "shared/main/cas" / digest).write_bytes(b"sma")

    assert cache.missing({digest: 5}) == {digest}


def test_a_result_without_end_is_not_read(cache: ObjectCache, tmp_path: Path) -> None:
    cache.put_result(ACTION, 3, b"result")
    with (tmp_path / "shared/main/ac" / ACTION).open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(Trouble, match="it has a result without end"):
        cache.result(ACTION, 3)


def test_errors_of_a_library_are_told_without_their_text(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("https://bucket?signature=geheim")

    monkeypatch.setattr(cache._files, "info", fail)
    with pytest.raises(Trouble) as caught:
        cache.result(ACTION, 3)

    assert str(caught.value) == "it fails: RuntimeError"
