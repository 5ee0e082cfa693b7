"""Binaries for several chips: read, made smaller, made equal. The sample is the plugin's own."""

from __future__ import annotations

import json

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.multi_chip import METADATA, MultiChip, dates, read_multi_chip, stripped
from qnnbuild.formats.zip_records import read_directory, read_records, record_data
from qnnbuild.formats.zip_writer import PAGE, WORD, NewRecord, zip_of
from tests.unit.formats.samples import sample

SM8750, SM8650, SM8550 = 69, 57, 43


@pytest.fixture
def three() -> memoryview:
    return memoryview(sample("three_chips.bin"))


def joined(pieces) -> memoryview:
    return memoryview(b"".join(bytes(piece) for piece in pieces))


def written_again(data: memoryview, **changed: bytes | None) -> memoryview:
    """The same file, but for what is changed: a record's name → its new contents, None to drop."""
    new = [
        NewRecord(
            name=record.name,
            data=changed.get(record.name, record_data(data, record)) or b"",
            aligned_to=WORD if record.name.startswith(METADATA) else PAGE,
        )
        for record in read_records(data)
        if changed.get(record.name, b"") is not None
    ]
    names = [new_one.name for new_one in new]
    listed = [record.name for record in read_directory(data) if record.name in names]
    return joined(zip_of(new, listed))


def metadata_of(data: memoryview):
    (record,) = (r for r in read_records(data) if r.name.startswith(METADATA))
    return json.loads(bytes(record_data(data, record)))


def changed_metadata(data: memoryview, change) -> memoryview:
    said = metadata_of(data)
    change(said)
    text = json.dumps(said, indent=4).encode()
    return written_again(data, **{"dlc.metadata2.3.0": text})


def shape_of(read: MultiChip) -> list[tuple[int, int | None, int]]:
    return [(chip.soc_model, chip.context.arch, len(chip.weights)) for chip in read.chips]


def test_the_writer_makes_the_plugins_own_bytes(three):
    assert written_again(three) == three


def test_each_chip_is_told_with_the_weights_that_it_shares(three):
    read = read_multi_chip(three)

    assert shape_of(read) == [(SM8750, 79, 1), (SM8650, 75, 1), (SM8550, 73, 1)]
    assert list(read.shared.values()) == [139264]


def test_two_chips_are_left_and_whole(three):
    two = joined(stripped(three, {SM8750, SM8550}))

    read = read_multi_chip(two)
    assert shape_of(read) == [(SM8550, 73, 1), (SM8750, 79, 1)]
    assert list(read.shared.values()) == [139264]
    assert len(three) - len(two) >= 40960


def test_one_chip_is_left_with_its_very_contents(three):
    one = joined(stripped(three, {SM8650}))

    before = {r.name: bytes(record_data(three, r)) for r in read_records(three)}
    after = {r.name: bytes(record_data(one, r)) for r in read_records(one)}
    assert shape_of(read_multi_chip(one)) == [(SM8650, 75, 1)]
    assert sorted(set(before) - set(after)) == ["htp.cache.sm8550.0", "htp.cache.sm8750.0"]
    assert all(after[name] == before[name] for name in after if not name.startswith(METADATA))


def test_a_file_made_smaller_twice_is_the_one_made_smaller_at_once(three):
    slowly = joined(stripped(joined(stripped(three, {SM8750, SM8650})), {SM8750}))

    assert slowly == joined(stripped(three, {SM8750}))


def test_its_description_names_only_the_chips_that_are_left(three):
    said = metadata_of(joined(stripped(three, {SM8650})))

    assert [one["socModel"] for one in said["cacheList"]] == [SM8650]
    parents = [one["parentRecordName"].partition("<")[0] for one in said["relations"]]
    assert parents == ["htp.metadata.shared_weights.", "htp.cache.sm8650.0"]


def test_weights_that_nobody_needs_any_more_go_too(three):
    def needs_none(said):
        said["relations"] = [
            r for r in said["relations"] if r["parentRecordName"] != "htp.cache.sm8550.0"
        ]

    one = joined(stripped(changed_metadata(three, needs_none), {SM8550}))

    names = [record.name for record in read_records(one)]
    assert names == ["dlc.metadata2.3.0", "htp.cache.sm8550.0"]


def test_no_chip_left_is_refused(three):
    with pytest.raises(FormatError) as caught:
        list(stripped(three, {9999}))

    assert str(caught.value) == "no chip would be left in it"


def test_times_are_found_and_nothing_else(three):
    found = list(dates(three))

    # one for the file, one for each chip, one for each relation
    assert len(found) == 1 + 3 + 4
    for at, new in found:
        old = bytes(three[at : at + len(new)])
        assert old.startswith(b"20")
        assert old.endswith(b" UTC")


def test_without_its_times_the_file_reads_the_same(three):
    equal = bytearray(three)
    for at, new in dates(three):
        equal[at : at + len(new)] = new

    assert read_multi_chip(memoryview(equal)) == read_multi_chip(three)


ALL_IN_IT = "'htp.cache.sm8550.0', 'htp.cache.sm8650.0', 'htp.cache.sm8750.0' are in it"


def drop_a_chip(said):
    del said["cacheList"][0]


def another_chip(said):
    said["cacheList"][0]["socModel"] = 30


def unknown_weights(said):
    said["relations"][1]["childRecordNames"] = ["htp.shared.weights.<none>"]


def no_list(said):
    del said["cacheList"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            drop_a_chip,
            "damaged: it describes 'htp.cache.sm8650.0', 'htp.cache.sm8750.0', and " + ALL_IN_IT,
        ),
        (another_chip, "'htp.cache.sm8550.0': described as soc_model 30, it is 43"),
        (unknown_weights, "damaged: 'htp.shared.weights.<none>' is needed and not in it"),
        (no_list, "damaged: the description of its contexts lacks 'cacheList'"),
    ],
)
def test_a_description_that_does_not_fit_is_told(three, change, told):
    with pytest.raises(FormatError) as caught:
        read_multi_chip(changed_metadata(three, change))

    assert str(caught.value) == told


def test_a_description_that_is_no_json_is_told(three):
    with pytest.raises(FormatError, match="the description of its contexts is no JSON"):
        read_multi_chip(written_again(three, **{"dlc.metadata2.3.0": b"{"}))


def test_a_file_without_a_description_is_told(three):
    with pytest.raises(FormatError, match="0 descriptions of its contexts; one belongs in it"):
        read_multi_chip(written_again(three, **{"dlc.metadata2.3.0": None}))
