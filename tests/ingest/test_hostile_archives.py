"""Archives that mean harm, or look like it, are listed within limits and say what is wrong with them."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from zlib import crc32

import pytest
from made_archives import (
    seven_zip_of_names,
    store,
    tar_of,
    zip_entry,
    zip_of,
    zip_record,
    zip_with,
)

from headgate.domain.library.contents import ContentLimits, ExtractionLimits, Listing
from headgate.ingest.contents.archives import LIST, TASKS, Archives
from headgate.ingest.sandbox.pool import Sandbox
from headgate.testing.rar_writer import write_rar

pytestmark = pytest.mark.asyncio(loop_scope="module")

MIB = 2**20
EVIL = {
    "../../evil": "%2E%2E/%2E%2E/evil",
    "/etc/passwd": "%2Fetc/passwd",
    "C:/Windows/evil.dll": "C%3A/Windows/evil.dll",
    "sub/../../evil": "sub/%2E%2E/%2E%2E/evil",
}
ODD = {
    "con.txt": "%63on.txt",
    "sub/nul": "sub/%6Eul",
    "a\x1b[31mred\n": "a%1B[31mred%0A",
    "trailing. ": "trailing.%20",
    "evil\u202egpj.exe": "evil%E2%80%AEgpj.exe",
}


def assert_harmless(listing: Listing) -> None:
    """No shown path leads anywhere, on any system."""
    for entry in listing.entries:
        for path in (PurePosixPath(entry.path), PureWindowsPath(entry.path)):
            assert not path.is_absolute()
            assert not path.drive
            assert ".." not in path.parts
        assert len(entry.path) <= 1_000
        assert "\0" not in entry.path
        assert "\n" not in entry.path


def _zip(names: list[str]) -> bytes:
    raw = [name.encode() for name in names]
    return zip_with(b"", [zip_record(name, packed=0, size=0, offset=0) for name in raw])


def _tar(names: list[str]) -> bytes:
    return tar_of(dict.fromkeys(names, b""))


def _rar(names: list[str]) -> bytes:
    return write_rar(dict.fromkeys(names, b""))[0]


@pytest.mark.parametrize("write", [_zip, _tar, _rar, seven_zip_of_names])
async def test_names_that_lead_outside_are_escaped_and_reported(
    archives: Archives, tmp_path: Path, write: Callable[[list[str]], bytes]
) -> None:
    names = [*EVIL, *ODD]
    listing = await archives.list_contents(store(tmp_path, [write(names)]))
    assert {entry.raw_path: entry.path for entry in listing.entries} == {**EVIL, **ODD}
    assert listing.problems == ("unsafe_names",)
    assert listing.is_complete
    assert_harmless(listing)
    odd = await archives.list_contents(store(tmp_path, [write(list(ODD))]))
    assert odd.problems == ()


async def test_a_name_with_nul_keeps_all_of_it(archives: Archives, tmp_path: Path) -> None:
    """Cut at the NUL, `picture.png` would hide what it is."""
    raw = "picture.png\0.exe"
    for whole in (_zip([raw]), write_rar({raw: b""})[0]):
        listing = await archives.list_contents(store(tmp_path, [whole]))
        assert [(entry.raw_path, entry.path) for entry in listing.entries] == [(raw, "picture.png%00.exe")]
        assert listing.problems == ("unsafe_names",)
        assert listing.entries[0].raw_bytes == raw.encode()


async def test_names_that_are_no_text_are_kept_to_the_byte(archives: Archives, tmp_path: Path) -> None:
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    tar = await archives.list_contents(store(tmp_path, [tar_of({name: b""}, tarfile.GNU_FORMAT)]))
    lone = await archives.list_contents(store(tmp_path, [seven_zip_of_names(["a\ud800b"])]))
    assert [entry.raw_path for entry in (*tar.entries, *lone.entries)] == [name, "a\ud800b"]
    assert [entry.path for entry in (*tar.entries, *lone.entries)] == ["caf%ED%B3%A9.txt", "a%ED%A0%80b"]


async def test_names_that_are_too_long_are_cut_and_reported(archives: Archives, tmp_path: Path) -> None:
    name = "deep/" * 2_000 + "model.stl"
    listing = await archives.list_contents(store(tmp_path, [tar_of({name: b""})]))
    (entry,) = listing.entries
    assert listing.problems == ("names_too_long",)
    assert len(entry.raw_path) == 4_096
    assert_harmless(listing)


@pytest.mark.parametrize("write", [_zip, seven_zip_of_names], ids=["zip", "7z"])
async def test_fifty_thousand_names_are_all_listed(
    archives: Archives, tmp_path: Path, write: Callable[[list[str]], bytes]
) -> None:
    names = [f"folder {n // 1000}/file number {n}.stl" for n in range(50_000)]
    listing = await archives.list_contents(store(tmp_path, [write(names)]))
    if write is _zip:
        assert [entry.path for entry in listing.entries] == names
    else:
        assert [entry.raw_path for entry in listing.entries] == names
    assert listing.problems == ()


async def test_two_hundred_thousand_names_in_a_small_7z_are_listed_up_to_the_limit(
    archives: Archives, tmp_path: Path
) -> None:
    whole = seven_zip_of_names([f"{n}" for n in range(200_000)])
    assert len(whole) < 200_000
    listing = await archives.list_contents(store(tmp_path, [whole]))
    assert (len(listing.entries), listing.problems) == (100_000, ("too_many_entries",))
    assert not listing.is_complete


async def test_names_have_a_limit_in_all(archives: Archives, tmp_path: Path) -> None:
    names = [f"{n:04}" + "x" * 4_000 for n in range(5_000)]
    listing = await archives.list_contents(store(tmp_path, [_zip(names)]))
    assert listing.problems == ("too_many_entries",)
    assert 4_000 < len(listing.entries) < 5_000


async def test_a_header_that_unpacks_to_too_much_is_refused(archives: Archives, tmp_path: Path) -> None:
    whole = seven_zip_of_names(["x" * 1000] * 40_000)
    listing = await archives.list_contents(store(tmp_path, [whole]))
    assert (listing.entries, listing.problems) == ((), ("unsupported",))


def _zeros(size: int) -> bytes:
    """Pack zeros at a ratio of a thousand to one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(size // MIB)) + packer.flush()


def _bomb(size: int, *, announced: int | None = None) -> bytes:
    packed = _zeros(size)
    announced = size if announced is None else announced
    body = zip_entry(b"zeros", packed, size=announced)
    return zip_with(body, [zip_record(b"zeros", packed=len(packed), size=announced, offset=0)])


async def test_a_bomb_is_listed_and_never_unpacked(archives: Archives, tmp_path: Path) -> None:
    volumes = store(tmp_path, [_bomb(80 * MIB)])
    listing = await archives.list_contents(volumes)
    assert (len(listing.entries), listing.problems) == (1, ("suspicious_ratio",))
    output = tmp_path / "out"
    done = await archives.extract(volumes, 0, output)
    assert done.problem == "suspicious_ratio"
    assert output.stat().st_size == 0


async def test_a_bomb_that_lies_about_its_size_is_stopped_at_what_it_announced(
    archives: Archives, tmp_path: Path
) -> None:
    done = await archives.extract(store(tmp_path, [_bomb(80 * MIB, announced=MIB)]), 0, tmp_path / "out")
    assert done.problem == "damaged"
    assert (tmp_path / "out").stat().st_size <= MIB


async def test_a_packed_tar_that_is_a_bomb_is_not_read_to_its_end(archives: Archives, tmp_path: Path) -> None:
    small = tar_of({"first": b"1", "zeros": bytes(80 * MIB), "last": b"3"})
    listing = await archives.list_contents(store(tmp_path, [gzip.compress(small)]))
    assert [entry.path for entry in listing.entries] == ["first", "zeros"]
    assert listing.problems == ("suspicious_ratio",)
    alone = await archives.list_contents(store(tmp_path, [gzip.compress(bytes(80 * MIB))]), name="zeros.gz")
    assert (alone.entries[0].size_bytes, alone.problems) == (None, ("suspicious_ratio",))


async def test_an_archive_of_archives_is_opened_one_level_and_on_request_alone(
    archives: Archives, tmp_path: Path
) -> None:
    """As in 42.zip: each level holds sixteen of the next."""
    whole = _bomb(20 * MIB)
    for level in range(4):
        whole = zip_of({f"level {level}/{n}.zip": whole for n in range(16)})
    volumes = store(tmp_path, [whole])
    outer = await archives.list_contents(volumes)
    spool = tmp_path / "spool"
    inner = await archives.list_nested(volumes, 3, spool=spool)
    assert [entry.path for entry in outer.entries] == [f"level 3/{n}.zip" for n in range(16)]
    assert [entry.path for entry in inner.entries] == [f"level 2/{n}.zip" for n in range(16)]
    assert not spool.exists()
    missing = await archives.list_nested(volumes, 16, spool=spool)
    assert missing.problems == ("no_such_entry",)


async def test_entries_that_share_their_bytes_are_reported(archives: Archives, tmp_path: Path) -> None:
    packed = _zeros(MIB)
    body = zip_entry(b"0", packed, size=MIB)
    records = [zip_record(b"%d" % n, packed=len(packed), size=MIB, offset=0) for n in range(1_000)]
    listing = await archives.list_contents(store(tmp_path, [zip_with(body, records)]))
    assert len(listing.entries) == 1_000
    assert listing.problems == ("overlapping_entries", "suspicious_ratio")


async def test_sizes_that_cannot_be_are_cut_to_what_a_column_holds(
    archives: Archives, tmp_path: Path
) -> None:
    record = zip_record(b"huge", packed=2**64 - 1, size=2**64 - 1, offset=0)
    listing = await archives.list_contents(store(tmp_path, [zip_with(b"", [record, record])]))
    assert {entry.size_bytes for entry in listing.entries} == {2**63 - 1}
    assert listing.unpacked_bytes == 2**63 - 1
    assert {"too_big", "suspicious_ratio"} <= set(listing.problems)
    done = await archives.extract(store(tmp_path, [zip_with(b"", [record])]), 0, tmp_path / "out")
    assert done.problem in {"too_big", "damaged"}


async def test_a_directory_that_announces_more_than_it_has_is_damaged(
    archives: Archives, tmp_path: Path
) -> None:
    whole = bytearray(zip_of({"a": b"1", "b": b"2"}))
    whole[-14:-10] = struct.pack("<2H", 9, 9)
    listing = await archives.list_contents(store(tmp_path, [bytes(whole)]))
    assert ([entry.path for entry in listing.entries], listing.problems) == (["a", "b"], ("damaged",))


async def test_a_tar_with_a_damaged_header_in_the_middle_says_so(archives: Archives, tmp_path: Path) -> None:
    whole = bytearray(tar_of({"a": b"1", "b": b"2"}))
    whole[1024] ^= 1
    listing = await archives.list_contents(store(tmp_path, [bytes(whole)]))
    assert ([entry.path for entry in listing.entries], listing.problems) == (["a"], ("damaged",))


async def test_an_extended_header_of_a_tar_cannot_take_all_memory(archives: Archives, tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 2**40
    whole = header.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    listing = await archives.list_contents(store(tmp_path, [whole]))
    assert (listing.entries, listing.problems) == ((), ("damaged",))


def _xz_with_a_window_of_4_gib() -> bytes:
    whole = bytearray(lzma.compress(b"hello", lzma.FORMAT_XZ))
    size = (whole[12] + 1) * 4
    place = whole.index(b"\x21\x01", 12) + 2
    whole[place] = 40
    whole[12 + size - 4 : 12 + size] = struct.pack("<I", crc32(whole[12 : 12 + size - 4]))
    return bytes(whole)


async def test_an_archive_that_asks_for_all_memory_ends_as_out_of_memory(
    archives: Archives, tmp_path: Path
) -> None:
    listing = await archives.list_contents(store(tmp_path, [_xz_with_a_window_of_4_gib()]))
    assert listing.problems == ("out_of_memory",)
    assert (await archives.list_contents(store(tmp_path, [zip_of({"a": b""})]))).problems == ()


@pytest.mark.long
async def test_a_listing_that_takes_too_long_ends_with_what_it_has(tmp_path: Path) -> None:
    async with Sandbox(size=1, modules=[TASKS]) as sandbox:
        hasty = Archives(sandbox, limits=ContentLimits(max_read_s=0.0))
        listing = await hasty.list_contents(store(tmp_path, [tar_of({"a": b"1", "b": b"2"})]))
    assert ([entry.path for entry in listing.entries], listing.problems) == (["a"], ("took_too_long",))


async def test_no_archive_holds_a_process_longer_than_its_limit(tmp_path: Path) -> None:
    """Without the reader's own deadline, the kill from outside ends it."""
    slow = lzma.compress(bytes(100 * MIB), preset=0)
    limits = ContentLimits(max_read_s=1e9, max_ratio=1e9)
    task = replace(LIST, limits=replace(LIST.limits, wall_s=0.02))
    async with Sandbox(size=1, modules=[TASKS]) as sandbox:
        listing = await Archives(sandbox, limits=limits, list_task=task).list_contents(
            store(tmp_path, [slow])
        )
        after = await Archives(sandbox).list_contents(store(tmp_path, [zip_of({"a": b""})]))
    assert (listing.problems, after.problems) == (("took_too_long",), ())


async def test_extracting_has_a_limit_in_bytes_on_every_way(archives: Archives, tmp_path: Path) -> None:
    limits = ExtractionLimits(max_bytes=100)
    content = bytes(range(101))
    for whole in (zip_of({"a": content}), tar_of({"a": content}), write_rar({"a": content})[0]):
        done = await archives.extract(store(tmp_path, [whole]), 0, tmp_path / "out", limits=limits)
        assert done.problem == "too_big"
        assert (tmp_path / "out").stat().st_size <= 100
    unnamed = io.BytesIO()
    with gzip.GzipFile(fileobj=unnamed, mode="wb") as file:
        file.write(content)
    done = await archives.extract(store(tmp_path, [unnamed.getvalue()]), 0, tmp_path / "out", limits=limits)
    assert done.problem == "too_big"
