"""What is inside archives of every kind, single and in volumes, whole and not."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import lzma
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import pytest
import rarfile
from backports import zstd
from made_archives import SETS, SINGLE, TREE, run, store, tar_of, write_tree, zip_of

from headgate.domain.library.contents import Listing
from headgate.ingest.contents.archives import Archives
from headgate.testing.rar_writer import write_rar

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIZES = {name: len(content) for name, content in TREE.items()}


def sizes_of(listing: Listing) -> dict[str, int | None]:
    return {entry.path: entry.size_bytes for entry in listing.entries if not entry.is_directory}


@pytest.mark.parametrize("kind", [*SINGLE, *SETS])
async def test_archives_of_every_kind_list_the_same_tree(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    volumes = {**SINGLE, **SETS}[kind](tmp_path)
    listing = await archives.list_contents(volumes)
    assert (sizes_of(listing), listing.problems) == (SIZES, ())
    assert listing.is_complete
    assert listing.unpacked_bytes == sum(SIZES.values())
    assert len(volumes) == (1 if kind in SINGLE else max(3, len(volumes)))


@pytest.mark.parametrize("kind", ["zip by zip", "7z", "rar5", "part1.rar", "z01 + zip"])
async def test_checksums_are_those_of_the_files(archives: Archives, tmp_path: Path, kind: str) -> None:
    listing = await archives.list_contents({**SINGLE, **SETS}[kind](tmp_path))
    found = {entry.path: entry.crc32 or 0 for entry in listing.entries if not entry.is_directory}
    assert found == {name: crc32(content) for name, content in TREE.items()}


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("gone", ["first", "middle", "last"])
async def test_a_set_with_a_missing_volume_says_so_and_lists_what_it_can(
    archives: Archives, tmp_path: Path, kind: str, gone: str
) -> None:
    volumes: list[Path | None] = [*SETS[kind](tmp_path)]
    volumes[{"first": 0, "middle": 1, "last": -1}[gone]] = None
    listing = await archives.list_contents(volumes)
    assert listing.problems == ("missing_volumes",)
    assert not listing.is_complete
    assert sizes_of(listing).items() <= SIZES.items()
    reachable = {"z01 + zip": {"first", "middle"}, "zip.001": {"first", "middle"}, "7z.001": {"middle"}}
    if gone in reachable.get(kind, ()):
        assert sizes_of(listing) == SIZES


@pytest.mark.parametrize("kind", SETS)
async def test_volumes_that_nobody_knows_to_be_missing_are_missed(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    """The caller may not know how many there are: the last one, or one in the middle, is just not there."""
    volumes = SETS[kind](tmp_path)
    without_last = await archives.list_contents(volumes[:-1])
    without_middle = await archives.list_contents([volumes[0], *volumes[2:]])
    assert "missing_volumes" in without_last.problems
    assert without_middle.problems


async def test_the_last_volume_of_a_split_zip_lists_everything_alone(
    archives: Archives, tmp_path: Path
) -> None:
    listing = await archives.list_contents([SETS["z01 + zip"](tmp_path)[-1]])
    assert (sizes_of(listing), listing.problems) == (SIZES, ("missing_volumes",))


async def test_volumes_in_the_wrong_order_are_noticed(archives: Archives, tmp_path: Path) -> None:
    first, second, *rest = SETS["part1.rar"](tmp_path)
    listing = await archives.list_contents([second, first, *rest])
    assert "missing_volumes" in listing.problems


@pytest.mark.parametrize(
    ("pack", "name", "inner"),
    [
        (gzip.compress, "notes.txt.gz", "notes.txt"),
        (bz2.compress, "notes.txt.bz2", "notes.txt"),
        (lzma.compress, "notes.txt.xz", "notes.txt"),
        (zstd.compress, "notes.txt.zst", "notes.txt"),
        (gzip.compress, "../../etc/passwd.gz", "passwd"),
        (gzip.compress, "", "content"),
    ],
)
async def test_a_compressed_file_holds_one_file_of_its_name(
    archives: Archives, tmp_path: Path, pack: Any, name: str, inner: str
) -> None:
    (path,) = store(tmp_path, [pack(b"hello\n" * 100)])
    listing = await archives.list_contents([path], name=name)
    assert (sizes_of(listing), listing.problems) == ({inner: 600}, ())


async def test_the_format_is_told_by_bytes_and_not_by_the_name(archives: Archives, tmp_path: Path) -> None:
    rar, text = tmp_path / "really.zip", tmp_path / "text.rar"
    rar.write_bytes(write_rar(TREE)[0])
    text.write_bytes(b"just text, whatever its name says\n" * 100)
    assert (await archives.list_contents([rar], name=rar.name)).format == "rar5"
    listing = await archives.list_contents([text], name=text.name)
    assert (listing.format, listing.problems) == (None, ("not_an_archive",))


async def test_names_without_a_declared_encoding_are_read_as_utf8_or_cp437(
    archives: Archives, tmp_path: Path
) -> None:
    marked = zip_of({"grüße.txt": b""})
    unmarked = marked.replace(b"\x00\x08\x00\x00", b"\x00\x00\x00\x00")
    plain = zip_of({"gruesse.txt": b""})
    old = plain.replace(b"gruesse", b"gr\x81\xe1eeX")
    listings = [await archives.list_contents(store(tmp_path, [raw])) for raw in (marked, unmarked, old)]
    assert [one.entries[0].path for one in listings] == ["grüße.txt", "grüße.txt", "grüßeeX.txt"]


async def test_links_are_listed_as_links(archives: Archives, tmp_path: Path) -> None:
    write_tree(tmp_path)
    (tmp_path / "tree/link").symlink_to("/etc/passwd")
    run("zip", "-qr", "--symlinks", "a.zip", "tree", folder=tmp_path)
    run("tar", "-cf", "a.tar", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-snl", "a.7z", "tree", folder=tmp_path)
    for name in ("a.zip", "a.tar", "a.7z"):
        listing = await archives.list_contents([tmp_path / name])
        assert [entry.path for entry in listing.entries if entry.is_link] == ["tree/link"], name


async def test_encrypted_files_and_encrypted_names_are_told_apart(archives: Archives, tmp_path: Path) -> None:
    write_tree(tmp_path)
    run("zip", "-qr", "-P", "secret", "a.zip", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-psecret", "files.7z", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-psecret", "-mhe=on", "names.7z", "tree", folder=tmp_path)
    files = [await archives.list_contents([tmp_path / name]) for name in ("a.zip", "files.7z")]
    names = await archives.list_contents([tmp_path / "names.7z"])
    assert [one.problems for one in files] == [("encrypted",), ("encrypted",)]
    assert [sizes_of(one) for one in files] == [SIZES, SIZES]
    assert (names.problems, names.entries) == (("encrypted_names",), ())


@pytest.mark.parametrize("kind", SINGLE)
async def test_a_truncated_archive_is_told_from_a_whole_one(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    (path,) = SINGLE[kind](tmp_path)
    whole = path.read_bytes()
    # Before the end that zip, 7z and RAR have, and the zeros that tar has.
    for cut in (len(whole) // 2, len(whole) - 15_000):
        path.write_bytes(whole[:cut])
        listing = await archives.list_contents([path])
        assert {"truncated", "damaged"}.intersection(listing.problems), (cut, listing)
        assert sizes_of(listing).keys() <= SIZES.keys()


async def test_real_rar_archives_list_as_rarfile_lists_them(archives: Archives, rar_samples: Path) -> None:
    compared = 0
    for path in sorted(rar_samples.glob("*.rar")):  # noqa: ASYNC240
        # Old versions of a file are hidden by rarfile, and volumes after the first are empty to it.
        if "versions" in path.name or "part" in path.name:
            continue
        listing = await archives.list_contents([path])
        known = cast("Any", rarfile).RarFile(path, part_only=True).infolist()
        theirs = [(one.filename.rstrip("/"), one.file_size, one.CRC, one.is_symlink()) for one in known]
        ours = [
            (entry.raw_path.rstrip("/"), entry.size_bytes, entry.crc32, entry.is_link)
            for entry in listing.entries
        ]
        assert ours == theirs, path.name
        assert not {"damaged", "truncated", "crashed"}.intersection(listing.problems), path.name
        compared += 1
    assert compared >= 40


@pytest.mark.parametrize(
    ("names", "problems", "solid"),
    [
        (["rar3-vols.part1.rar", "rar3-vols.part2.rar", "rar3-vols.part3.rar"], (), False),
        (["rar5-vols.part1.rar", "rar5-vols.part2.rar", "rar5-vols.part3.rar"], (), False),
        (["rar3-old.rar", "rar3-old.r00", "rar3-old.r01"], (), False),
        (["rar3-vols.part1.rar", "", "rar3-vols.part3.rar"], ("missing_volumes",), False),
        (["rar5-vols.part1.rar", "", "rar5-vols.part3.rar"], ("missing_volumes",), False),
        (["rar5-vols.part1.rar", "rar5-vols.part3.rar"], ("missing_volumes",), False),
        (["rar3-old.rar", "rar3-old.r01"], ("missing_volumes",), False),
        (["rar3-solid.rar"], (), True),
        (["rar5-solid.rar"], (), True),
        (["rar3-comment-hpsw.rar"], ("encrypted_names",), False),
        (["rar5-hpsw.rar"], ("encrypted_names",), False),
        (["rar5-psw.rar"], ("encrypted",), False),
    ],
)
async def test_real_rar_sets_are_judged_by_their_headers(
    archives: Archives, rar_samples: Path, names: list[str], problems: tuple[str, ...], *, solid: bool
) -> None:
    listing = await archives.list_contents([rar_samples / name if name else None for name in names])
    assert (listing.problems, listing.is_solid) == (problems, solid)
    if len(names) > 1:
        assert sizes_of(listing) == {"vols/bigfile.txt": 205_000, "vols/smallfile.txt": 2_050}


async def test_unicode_names_of_old_rar_archives_are_decoded(archives: Archives, rar_samples: Path) -> None:
    listing = await archives.list_contents([rar_samples / "unicode.rar"])
    assert [entry.path for entry in listing.entries] == ["уииоотивл.txt", "𝐀𝐁𝐁𝐂.txt"]


async def test_times_that_no_file_has_are_left_out(archives: Archives, tmp_path: Path) -> None:
    shown: list[datetime | None] = []
    for modified_s in (1_750_000_000, 0, 2**40):
        listing = await archives.list_contents(store(tmp_path, [tar_of({"a": b""}, modified_s=modified_s)]))
        shown.append(listing.entries[0].modified_at)
    assert shown == [datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC), None, None]


async def test_the_service_itself_never_loads_a_library_that_reads_archives() -> None:
    program = (
        "import sys; import headgate.ingest.contents.archives, headgate.ingest.sandbox.pool;"
        "print([name for name in ('py7zr', 'rarfile', 'backports.zstd', 'tarfile')"
        " if name in sys.modules])"
    )
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    loaded, _ = await running.communicate()
    assert (running.returncode, loaded) == (0, b"[]\n")
