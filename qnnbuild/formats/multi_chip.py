"""Context binaries for several chips (QNN: flexible context binaries): reading, making smaller.

Such a file is a ZIP with one small context for each chip (`htp.cache.<chip>.<n>`), the weights
that they share (`htp.shared.weights.<digest>`, `htp.metadata.shared_weights.<…>`) and a JSON text
(`dlc.metadata<version>`) that describes each context and says which needs which weights. The
weights are those of the first chip that was asked for; what a chip has in another form stands
inside its own context: some hundred bytes from HTP v68 to v81, in fp16 and quantized, and all of it
for SM8350 beside newer chips in float, which it computes in fp32.

The JSON holds the times at which its parts were made: the only bytes in which two compiles of one
model differ. `dates` finds them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.context_binary import ContextFacts, read_context_binary
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.zip_records import ZipRecord, read_directory, read_records, record_data
from qnnbuild.formats.zip_writer import PAGE, WORD, NewRecord, zip_of

CACHE = "htp.cache."
WEIGHTS = "htp.shared.weights."
METADATA = "dlc.metadata"
DATE = re.compile(rb'"timestamp": "(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)"')
NO_DATE = b"1980-01-01 00:00:00 UTC"  # the earliest that a ZIP knows
MAX_JSON = 256 << 20


@dataclass(frozen=True, kw_only=True)
class ChipRecord:
    """One chip's context."""

    name: str
    soc_model: int
    context: ContextFacts
    weights: tuple[str, ...]  # records of weights that stand beside it
    own_weights: int  # bytes of weights inside it: those that are laid out for it alone


@dataclass(frozen=True, kw_only=True)
class MultiChip:
    chips: tuple[ChipRecord, ...]  # in the order of their data: that of the list of chips
    shared: Mapping[str, int]  # records of weights → bytes
    size: int


def read_multi_chip(data: memoryview) -> MultiChip:
    """Raises FormatError when the file is not whole, or its records and its JSON do not agree."""
    records = {record.name: record for record in read_records(data)}
    said = _metadata(data)
    listed, needed = _described(said)
    own = _own_weights(said)
    found = {name for name in records if name.startswith(CACHE)}
    if found != set(listed):
        raise FormatError(f"damaged: it describes {_names(listed)}, and {_names(found)} are in it")
    missing = {one for name in listed for one in needed.get(name, ()) if one not in records}
    if missing:
        raise FormatError(f"damaged: {_names(missing)} is needed and not in it")
    chips = []
    for name, record in records.items():
        if name in listed:
            context = read_context_binary(record_data(data, record), name)
            if context.soc_model != listed[name]:
                told = f"described as soc_model {listed[name]}, it is {context.soc_model}"
                raise FormatError(f"'{name}': {told}")
            chips.append(
                ChipRecord(
                    name=name,
                    soc_model=listed[name],
                    context=context,
                    weights=tuple(needed.get(name, ())),
                    own_weights=own.get(name, 0),
                )
            )
    shared = {name: record.size for name, record in records.items() if name.startswith(WEIGHTS)}
    return MultiChip(chips=tuple(chips), shared=shared, size=len(data))


def stripped(data: memoryview, keep: Collection[int]) -> Iterator[memoryview | bytes]:
    """The file for the chips with these soc_models only, piece by piece; at least one stays.

    Weights that none of them needs go too.
    """
    read = read_multi_chip(data)
    kept = {chip.name for chip in read.chips if chip.soc_model in keep}
    if not kept:
        raise FormatError("no chip would be left in it")
    needed = {name for chip in read.chips if chip.name in kept for name in chip.weights}
    gone = {chip.name for chip in read.chips} - kept | set(read.shared) - needed
    text, companions = _without(_metadata(data), gone)
    new = []
    for record in read_directory(data):
        if record.name in gone | companions:
            continue
        if record.name.startswith(METADATA):
            new.append(NewRecord(name=record.name, data=text, aligned_to=WORD))
        else:
            new.append(NewRecord(name=record.name, data=record_data(data, record), aligned_to=PAGE))
    return zip_of(new)


def dates(data: memoryview) -> Iterator[tuple[int, bytes]]:
    """Where in the file a time stands, and what of the same length makes all such files equal."""
    record = _metadata_record(data)
    contents = record_data(data, record)
    if record.method != 0:
        raise FormatError(f"'{record.name}' is packed, which the plugin never does")
    end = record.header_at + _head(data, record, contents)
    for match in DATE.finditer(contents):
        yield end + match.start(1), NO_DATE


def _head(data: memoryview, record: ZipRecord, contents: memoryview) -> int:
    """Bytes between a record's header and its contents."""
    lengths = data[record.header_at + 26 : record.header_at + 30]
    assert len(contents) == record.stored
    return 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")


def _metadata_record(data: memoryview) -> ZipRecord:
    found = [record for record in read_records(data) if record.name.startswith(METADATA)]
    if len(found) != 1:
        raise FormatError(f"damaged: {len(found)} descriptions of its contexts; one belongs in it")
    return found[0]


def _metadata(data: memoryview) -> dict[str, Any]:
    contents = record_data(data, _metadata_record(data))
    if len(contents) > MAX_JSON:
        raise FormatError("damaged: the description of its contexts has no end")
    try:
        said = json.loads(bytes(contents))
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"damaged: the description of its contexts is no JSON ({error})"
        ) from None
    if not isinstance(said, dict):
        raise FormatError("damaged: the description of its contexts is no JSON object")
    return said


def _described(said: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Context records → soc_model; records → the records that they need."""
    try:
        listed = {str(one["cacheName"]): int(one["socModel"]) for one in said["cacheList"]}
        needed = {
            str(one["parentRecordName"]): [str(name) for name in one["childRecordNames"]]
            for one in said.get("relations", ())
        }
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError(f"damaged: the description of its contexts lacks {error}") from None
    return listed, needed


def _own_weights(said: Mapping[str, Any]) -> dict[str, int]:
    """Context records → bytes of weights inside, where the description tells them."""
    found: dict[str, int] = {}
    try:
        for one in said["cacheList"]:
            details = [graph.get("graphBlobInfoV2", {}) for graph in one.get("graphs", ())]
            found[str(one["cacheName"])] = sum(
                int(detail.get("constSize", 0)) for detail in details
            )
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError(f"damaged: a context is described wrongly ({error})") from None
    return found


def _without(said: dict[str, Any], gone: Collection[str]) -> tuple[bytes, set[str]]:
    """The description without some records, and the records that described only those."""
    relations = said.get("relations", [])
    companions = {
        str(one["parentRecordName"])
        for one in relations
        if one["parentRecordName"] not in gone and set(one["childRecordNames"]) <= set(gone)
    }
    out = set(gone) | companions
    said["cacheList"] = [one for one in said["cacheList"] if one["cacheName"] not in out]
    said["relations"] = [one for one in relations if one["parentRecordName"] not in out]
    return json.dumps(said, indent=4, ensure_ascii=False).encode(), companions


def _names(names: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names)) or "nothing"
