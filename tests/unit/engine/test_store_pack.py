from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.engine import store_pack
from qnnbuild.engine.store_pack import pack, unpack
from qnnbuild.errors import StoreError
from tests.unit.engine.test_garbage import Kept


@pytest.fixture
def here(tmp_path: Path):
    (tmp_path / "a").mkdir()
    made = Kept(tmp_path / "a")
    yield made
    made.records.close()


@pytest.fixture
def there(tmp_path: Path):
    (tmp_path / "b").mkdir()
    made = Kept(tmp_path / "b")
    yield made
    made.records.close()


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "tar.bz2"])
def test_what_is_exported_is_there_after_the_import(here, there, tmp_path, ending):
    records = [here.put("convert/m", "aa", "bbb"), here.put("convert/n", "aa")]
    file = tmp_path / f"part.{ending}"
    told = pack(here.store, records, file)
    taken = unpack(there.store, there.records, file)

    assert (told.records, told.artifacts, told.total_bytes) == (2, 2, 5)
    assert (taken.records, taken.artifacts, taken.known) == (2, 2, 0)
    assert there.texts() == ["aa", "bbb"]
    assert [there.records.get(record.key) for record in records] == records
    assert there.records.last() == {}  # nothing here has made them
    assert unpack(there.store, there.records, file).known == 2


@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
def test_the_same_part_is_the_same_bytes(here, tmp_path, ending):
    records = [here.put("convert/m", "aa"), here.put("convert/n", "bb")]
    one, two = tmp_path / f"1.{ending}", tmp_path / f"2.{ending}"
    pack(here.store, records, one)
    pack(here.store, reversed(records), two)

    assert one.read_bytes() == two.read_bytes()


def test_a_damaged_artifact_is_not_exported(here, tmp_path):
    record = here.put("convert/m", "aa")
    ((digest, _),) = record.outputs["o"].files.values()
    here.store.path(digest).unlink()
    with pytest.raises(StoreError, match="missing or damaged"):
        pack(here.store, [record], tmp_path / "part.tar")

    assert list(tmp_path.glob("*part*")) == []


def archive(path: Path, members: Mapping[str, bytes], **kinds: bytes) -> Path:
    with tarfile.open(path, "w") as made:
        for name, contents in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            made.addfile(member, io.BytesIO(contents))
        for name, kind in kinds.items():
            link = tarfile.TarInfo(f"artifacts/{name}")
            link.type, link.linkname = kind, "/etc/passwd"
            made.addfile(link)
    return path


def about(**more: object) -> bytes:
    return json.dumps({"format": 1, "bytes": 10, "records": 1, **more}).encode()


GOOD = b"good"
GOOD_NAME = f"artifacts/{digest_bytes(GOOD)}"


def record(**changes: object) -> tuple[str, bytes]:
    parts = {"a": 1}
    values = {
        "key": key_of(parts),
        "name": "convert/m",
        "step": "convert",
        "parts": parts,
        "outputs": {"o": Tree(files={"m": (digest_bytes(GOOD), len(GOOD))})},
        **changes,
    }
    made = Record(**values)  # type: ignore[arg-type]
    return f"records/{key_of(parts)}.json", made.to_json().encode()


ABOUT = store_pack.ABOUT
BAD: dict[str, tuple[dict[str, bytes], str]] = {
    "not ours": ({"readme": b"x"}, "not what `qnnbuild store export` writes"),
    "another form": ({ABOUT: about(format=9)}, "another form"),
    "no size": ({ABOUT: about(bytes="many")}, "does not say how large"),
    "not JSON": ({ABOUT: b"{"}, "damaged"),
    "a path upwards": ({ABOUT: about(), "../x": b"x"}, "does not belong there: '../x'"),
    "an absolute path": ({ABOUT: about(), "/tmp/x": b"x"}, "does not belong there"),
    "a folder more": ({ABOUT: about(), f"artifacts/../{'a' * 64}": b"x"}, "does not belong"),
    "other contents": ({ABOUT: about(), f"artifacts/{'a' * 64}": b"x"}, "other contents"),
    "a text that is no record": ({ABOUT: about(), f"records/{'a' * 64}.json": b"[]"}, "damaged"),
    "another key": (
        {ABOUT: about(), GOOD_NAME: GOOD, record()[0]: record(key="b" * 64)[1]},
        "another key",
    ),
    "parts of another key": (
        {ABOUT: about(), GOOD_NAME: GOOD, record()[0]: record(parts={"a": 2})[1]},
        "another key",
    ),
    "a missing artifact": ({ABOUT: about(), record()[0]: record()[1]}, "not in it"),
    "a file outside": (
        {
            ABOUT: about(),
            GOOD_NAME: GOOD,
            record()[0]: record(
                outputs={"o": Tree(files={"../m": (digest_bytes(GOOD), len(GOOD))})}
            )[1],
        },
        "outside",
    ),
}


@pytest.mark.parametrize(("members", "told"), BAD.values(), ids=BAD)
def test_what_a_stranger_made_up_is_refused(there, tmp_path, members, told):
    path = archive(tmp_path / "bad.tar", members)
    with pytest.raises(StoreError, match=told):
        unpack(there.store, there.records, path)

    assert list(there.records.rows()) == []
    assert [text for text in there.texts() if text != GOOD.decode()] == []
    assert list((there.store.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_a_pipe_is_refused(there, tmp_path, kind):
    path = archive(tmp_path / "bad.tar", {ABOUT: about()}, **{"a" * 64: kind})
    with pytest.raises(StoreError, match="does not belong there"):
        unpack(there.store, there.records, path)


def test_what_does_not_fit_on_the_disk_is_refused_before_it_is_written(there, tmp_path):
    path = archive(tmp_path / "big.tar", {ABOUT: about(bytes=1 << 60)})
    with pytest.raises(StoreError, match="does not fit on the disk"):
        unpack(there.store, there.records, path)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz"])
def test_a_file_that_was_cut_off_is_told(here, there, tmp_path, ending):
    whole = tmp_path / f"whole.{ending}"
    pack(here.store, [here.put("convert/m", "aa" * 9000)], whole)
    data = whole.read_bytes()
    for part in (0, 1, len(data) // 3, len(data) // 2, len(data) * 3 // 4):
        cut = tmp_path / f"cut.{ending}"
        cut.write_bytes(data[:part])
        with pytest.raises(StoreError, match="cannot be taken in"):
            unpack(there.store, there.records, cut)

    assert list(there.records.rows()) == []
