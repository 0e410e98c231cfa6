"""Zips that are written while they are sent."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.ingest.serving.zip_stream import ZipMember, distinct_names, stream_zip

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIB = 2**20


def _member(name: str, content: bytes, at: datetime = AT) -> ZipMember:
    async def read() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]

    return ZipMember(name, len(content), at, read)


def _zeros(size_bytes: int) -> Callable[[], AsyncIterator[bytes]]:
    async def read() -> AsyncIterator[bytes]:
        chunk = bytes(16 * MIB)
        for _ in range(size_bytes // len(chunk)):
            yield chunk

    return read


async def test_a_streamed_zip_is_read_by_others() -> None:
    contents = {"a.txt": b"hi", "empty": b"", "Grüße.bin": bytes(range(256)) * 5000}
    members = [_member(name, content) for name, content in contents.items()]
    whole = b"".join([chunk async for chunk in stream_zip(members)])
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == contents
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


@pytest.mark.parametrize(("year", "written"), [(1970, 1980), (2026, 2026), (9999, 2107)])
async def test_times_that_zips_do_not_know_do_no_harm(year: int, written: int) -> None:
    sent_at = datetime(year, 1, 1, tzinfo=UTC)
    whole = b"".join([chunk async for chunk in stream_zip([_member("a", b"a", sent_at)])])
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.infolist()[0].date_time[0] == written


@pytest.mark.long
async def test_more_than_four_gib_comes_with_the_records_of_zip64(tmp_path: Path) -> None:
    size = 4 * 1024 * MIB + 64 * MIB
    members = [ZipMember("large.bin", size, AT, _zeros(size)), _member("after.txt", b"behind 4 GiB")]
    path, largest = tmp_path / "large.zip", 0
    with path.open("wb") as file:
        async for chunk in stream_zip(members):
            largest = max(largest, len(chunk))
            # Zeros become a hole of the file, so that the test takes no room.
            if chunk.strip(b"\0"):
                file.write(chunk)
            else:
                file.seek(len(chunk), io.SEEK_CUR)
    assert largest < 33 * MIB
    with zipfile.ZipFile(path) as archive:
        large, after = archive.infolist()
        assert (large.file_size, after.header_offset > size) == (size, True)
        assert archive.read(after) == b"behind 4 GiB"
        with archive.open(large) as inside:
            assert inside.read(100) == bytes(100)


@given(st.lists(st.text(max_size=20), max_size=8))
def test_names_are_distinct_and_lead_nowhere(names: list[str]) -> None:
    made = distinct_names(names)
    assert len({name.casefold() for name in made}) == len(names)
    assert not any("/" in name or "\\" in name or "\0" in name or name in {"", ".", ".."} for name in made)
