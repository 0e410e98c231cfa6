"""One file out of an archive: to a path or in chunks, by its number, checked, and never by its name."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, cast

import pytest
import rarfile
from made_archives import SETS, SINGLE, TREE, run, seven_zip_of_names, store, tar_of, write_tree, zip_of

from headgate.domain.library.contents import Extraction
from headgate.ingest.contents.archives import TASKS, Archives, Volumes
from headgate.ingest.sandbox.pool import Sandbox
from headgate.testing.rar_writer import write_rar

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def read_all(archives: Archives, volumes: Volumes, output: Path) -> dict[str, bytes]:
    """Extract every file, each to a path and in chunks, which must be the same."""
    found: dict[str, bytes] = {}
    for entry in (await archives.list_contents(volumes)).entries:
        if entry.is_directory:
            continue
        chunks: list[bytes] = []

        async def take(chunk: bytes, chunks: list[bytes] = chunks) -> None:
            chunks.append(chunk)

        stored = await archives.extract(volumes, entry.number, output)
        streamed = await archives.stream(volumes, entry.number, take)
        content = output.read_bytes()  # noqa: ASYNC240 - nothing else runs
        assert stored == streamed == Extraction(len(content)), entry
        assert b"".join(chunks) == content
        found[entry.path] = content
    return found


@pytest.mark.parametrize("kind", [*SINGLE, *SETS])
async def test_every_file_of_every_kind_comes_out_as_it_went_in(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    volumes = {**SINGLE, **SETS}[kind](tmp_path)
    assert await read_all(archives, volumes, tmp_path / "out") == TREE


@pytest.mark.parametrize(
    "names",
    [
        ["rar3-vols.part1.rar", "rar3-vols.part2.rar", "rar3-vols.part3.rar"],
        ["rar3-old.rar", "rar3-old.r00", "rar3-old.r01"],
        ["rar3-solid.rar"],
        ["rar5-solid.rar"],
        ["rar5-crc.rar"],
        ["rar5-subdirs.rar"],
        ["rar5-hlink.rar"],
        ["unicode.rar"],
    ],
)
async def test_packed_rar_archives_are_unpacked_by_a_program(
    archives: Archives, rar_samples: Path, tmp_path: Path, names: list[str]
) -> None:
    """The volumes have names that no program would find them by."""
    volumes = store(tmp_path, [(rar_samples / name).read_bytes() for name in names])
    found = await read_all(archives, volumes, tmp_path / "out")
    known = cast("Any", rarfile).RarFile(rar_samples / names[0]).infolist()
    assert {name: len(content) for name, content in found.items()} == {
        one.filename: one.file_size for one in known if one.is_file()
    }


async def test_without_a_program_packed_rar_says_so_and_stored_rar_works(
    rar_samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Sandbox(size=1, modules=[TASKS]) as sandbox:
        archives = Archives(sandbox)
        packed = await archives.extract([rar_samples / "rar5-solid.rar"], 0, tmp_path / "out")
        stored = await archives.extract(store(tmp_path, write_rar(TREE)), 1, tmp_path / "out")
    assert packed.problem == "no_unpacker"
    assert stored == Extraction(len(TREE["tree/big.bin"]))


async def test_names_that_are_options_or_patterns_are_never_read_as_such(
    archives: Archives, tmp_path: Path
) -> None:
    evil = {"-o": b"1", "@list": b"2", "*": b"3", "--help": b"4", "../x": b"5", "$(touch pwned)": b"6"}
    for whole in (zip_of(evil), tar_of(evil), write_rar(evil)[0]):
        found = await read_all(archives, store(tmp_path, [whole]), tmp_path / "out")
        assert sorted(found.values()) == sorted(evil.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blob-0", "out"]  # noqa: ASYNC240


async def test_entries_of_one_name_are_told_apart_by_their_number(archives: Archives, tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("same", b"first")
        archive.writestr("same", b"second")
    out = tmp_path / "out"
    contents: list[bytes] = []
    for number in (0, 1):
        assert (await archives.extract([path], number, out)).problem is None
        contents.append(out.read_bytes())
    assert contents == [b"first", b"second"]


async def test_links_and_folders_are_not_files(archives: Archives, rar_samples: Path, tmp_path: Path) -> None:
    write_tree(tmp_path)
    (tmp_path / "tree/link").symlink_to("/etc/passwd")
    run("zip", "-qr", "--symlinks", "a.zip", "tree", folder=tmp_path)
    run("tar", "-cf", "a.tar", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-snl", "a.7z", "tree", folder=tmp_path)
    evil = rar_samples / "rar5-evil-symlink-traversal.rar"
    for path in (tmp_path / "a.zip", tmp_path / "a.tar", tmp_path / "a.7z", evil):
        entries = (await archives.list_contents([path])).entries
        refused = [entry for entry in entries if entry.is_link or entry.is_directory]
        assert refused
        for entry in refused:
            assert (await archives.extract([path], entry.number, tmp_path / "out")).problem == "not_a_file"


@pytest.mark.parametrize("kind", ["z01 + zip", "7z.001", "tar.gz.001", "part1.rar"])
async def test_a_file_that_lies_in_a_missing_volume_cannot_be_extracted(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    first, _, *rest = SETS[kind](tmp_path)
    volumes: Volumes = [first, None, *rest]
    (big,) = [
        entry for entry in (await archives.list_contents(volumes)).entries if entry.path == "tree/big.bin"
    ]
    done = await archives.extract(volumes, big.number, tmp_path / "out")
    assert done.problem in {"missing_volumes", "damaged"}


@pytest.mark.parametrize("kind", ["zip by zip", "7z not solid", "rar5"])
async def test_content_that_does_not_fit_its_checksum_is_damaged(
    archives: Archives, tmp_path: Path, kind: str
) -> None:
    (path,) = SINGLE[kind](tmp_path)
    whole = bytearray(path.read_bytes())
    at = whole.index(TREE["tree/big.bin"][1000:1020])
    whole[at] ^= 1
    path.write_bytes(whole)
    (big,) = [
        entry for entry in (await archives.list_contents([path])).entries if entry.path == "tree/big.bin"
    ]
    assert (await archives.extract([path], big.number, tmp_path / "out")).problem == "damaged"


async def test_what_needs_a_password_says_so(archives: Archives, rar_samples: Path, tmp_path: Path) -> None:
    write_tree(tmp_path)
    run("zip", "-qrD", "-P", "secret", "a.zip", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-psecret", "files.7z", "tree", folder=tmp_path)
    run("7z", "a", "-bd", "-psecret", "-mhe=on", "names.7z", "tree", folder=tmp_path)
    paths = [tmp_path / "a.zip", tmp_path / "files.7z", tmp_path / "names.7z"]
    for path in (*paths, rar_samples / "rar5-psw.rar", rar_samples / "rar5-hpsw.rar"):
        assert (await archives.extract([path], 0, tmp_path / "out")).problem == "encrypted", path


async def test_numbers_that_no_entry_has_are_refused(archives: Archives, tmp_path: Path) -> None:
    for whole in (zip_of(TREE), tar_of(TREE), write_rar(TREE)[0], seven_zip_of_names(["a"])):
        done = await archives.extract(store(tmp_path, [whole]), 5, tmp_path / "out")
        assert done.problem == "no_such_entry"
    assert (
        await archives.extract(store(tmp_path, [b"text"]), 0, tmp_path / "out")
    ).problem == "not_an_archive"
