"""A DLC without the time of day at which it was made."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from qnnbuild.formats.dlc import read_dlc
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.zip_times import clear_times
from tests.unit.formats.samples import sample

NOW = b'{"timestamp": "2026-11-29 19:51:33 UTC", "a": 1}'
THEN = b'{"timestamp": "1980-01-01 00:00:00 UTC", "a": 1}'
METADATA = "dlc.metadata.history"


def cleared(data: bytes) -> bytes:
    made = bytearray(data)
    clear_times(memoryview(made))
    return bytes(made)


def zipped(method: int, date: tuple[int, int, int, int, int, int]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(METADATA, date), NOW, method)
        archive.writestr(zipfile.ZipInfo("model.params.bin", date), NOW)
    return file.getvalue()


def test_a_dlc_of_the_plugin_tells_another_time_and_nothing_else():
    real = sample("quantized.dlc")

    made = cleared(real)

    times = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
    assert set(times.findall(made)) == {b"1980-01-01 00:00:00 UTC"}
    assert times.sub(b"", made) == times.sub(b"", real)
    assert read_dlc(memoryview(made)) == read_dlc(memoryview(real))
    assert cleared(made) == made


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_dates_of_records_go_and_checksums_that_are_kept_stay_right(method):
    first = cleared(zipped(method, (2026, 11, 29, 19, 51, 32)))
    other = cleared(zipped(method, (2027, 1, 2, 3, 4, 6)))

    assert first == other
    with zipfile.ZipFile(io.BytesIO(first)) as archive:  # which checks what it reads
        assert archive.getinfo(METADATA).date_time == (1980, 1, 1, 0, 0, 0)
        assert archive.read(METADATA) == (NOW if method else THEN)
        assert archive.read("model.params.bin") == NOW


def test_half_a_file_is_refused():
    with pytest.raises(FormatError):
        cleared(sample("quantized.dlc")[:2000])
