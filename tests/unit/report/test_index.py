"""What build/index.json says of graphs that are known to fail."""

from __future__ import annotations

from qnnbuild.report.index import expected_failures, index, with_kept
from tests.reported import FLOATS, VAD, targets_of

KNOWN = {
    "model": "floats",
    "variant": "",
    "graph": "two",
    "chip": "SM8450",
    "reason": "values beyond fp16",
    "issue": "owner/repo#7",
}


def test_known_failures_are_listed() -> None:
    failures = expected_failures(targets_of(VAD, FLOATS))

    assert failures == [KNOWN]
    assert index({}, failures)["expected_failures"] == [KNOWN]


def test_known_failures_of_models_that_were_not_looked_at_stay() -> None:
    before = index({}, [KNOWN])

    assert with_kept(index({}), before, {"floats"})["expected_failures"] == [KNOWN]
    assert with_kept(index({}), before, {"other"})["expected_failures"] == []


def test_an_index_from_before_there_was_a_list_is_taken_over() -> None:
    before = {name: told for name, told in index({}).items() if name != "expected_failures"}

    assert with_kept(index({}, [KNOWN]), before, {"vad"})["expected_failures"] == [KNOWN]


def of(folder: str, *, chips: tuple[str, ...] = (), **more: object) -> dict[str, object]:
    manifest: dict[str, object] = {
        "model": folder.partition("/")[0],
        "variants": [{"name": "10"}],
        "chips": [{"name": chip} for chip in chips],
        "license": {"spdx": "MIT", "redistribute": True},
        "toolchain": {"name": "qairt-2.40"},
        "graphs": {},
        "files": {"x": {"sha256": "01", "bytes": 1}},
    }
    return {**manifest, **more}


PACKED = {"name": "vad-10", "kind": "library", "target": "linux-x64"}
OURS = {
    "vad/10/SM8750": of("vad", chips=("SM8750",)),
    "vad/10/libraries": of("vad"),
    "archives/vad-10": of("vad", archive=PACKED),
}


def test_libraries_are_for_no_chip_and_archives_go_by_their_names() -> None:
    told = index(OURS)

    assert list(told["chips"]) == ["SM8750"]
    assert [one["path"] for one in told["libraries"]["vad"]["10"]] == ["vad/10/libraries"]
    assert told["archives"]["vad-10"]["path"] == "archives/vad-10/x"
    assert told["published"] == ["archives/vad-10", "vad/10/SM8750", "vad/10/libraries"]


def test_what_may_not_be_passed_on_is_in_no_published_list() -> None:
    closed = {"spdx": "X", "redistribute": False}
    told = index({path: {**one, "license": closed} for path, one in OURS.items()})

    assert told["published"] == []
    assert told["archives"]["vad-10"]["redistribute"] is False


def test_libraries_and_archives_of_models_that_were_not_looked_at_stay() -> None:
    before = index(OURS)

    assert with_kept(index({}), before, {"vad"}) == before
    assert with_kept(index({}), before, {"other"})["archives"] == {}


def test_an_index_without_libraries_and_archives_is_taken_over() -> None:
    before = {name: told for name, told in index({}).items() if name not in PARTS}

    assert with_kept(index(OURS), before, {"other"}) == index(OURS)


PARTS = ("libraries", "archives")
