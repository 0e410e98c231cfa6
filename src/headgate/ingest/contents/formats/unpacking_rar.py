"""Unpacks one entry of a RAR: what is stored directly, what is packed with a program that is installed.

The program gets links with names of our own, because it finds the volumes by their names, and the number or
the path of the entry, never as an option.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from headgate.ingest.contents.collecting import Collector, DamagedArchive, NamesEncrypted
from headgate.ingest.contents.formats.rar import WholeFile, read_files
from headgate.ingest.contents.formats.unpacking import PIECE, EntryError, Sink
from headgate.ingest.contents.joined import JoinedVolumes
from headgate.ingest.sandbox.restrictions import die_with_the_worker

_WILDCARDS = frozenset("*?[]@")
_END_S = 5.0


def unpack_rar(
    volumes: JoinedVolumes,
    number: int,
    sink: Sink,
    collector: Collector,
    *,
    paths: Sequence[Path],
    unpacker: Path | None,
) -> None:
    """Unpack an entry, with `unpacker` if it is packed."""
    number, file = _find(volumes, number, collector)
    header = file.header
    if header.is_directory or header.is_link:
        raise EntryError("not_a_file")
    if header.is_encrypted:
        raise EntryError("encrypted")
    if not file.is_whole:
        raise EntryError("missing_volumes")
    # Packing of solid archives reaches back, so the size of this entry alone says nothing.
    packed = None if collector.is_solid else file.packed
    if header.is_stored:
        sink.begin(size=header.size, packed=packed, crc32=header.crc32)
        _copy_stored(volumes, file, sink)
    elif unpacker is None:
        raise EntryError("no_unpacker")
    elif not volumes.is_gapless:
        raise EntryError("missing_volumes")
    else:
        sink.begin(size=header.size, packed=packed, crc32=header.crc32)
        _run_unpacker(unpacker, paths, number=number, name=header.name, sink=sink)


def _find(volumes: JoinedVolumes, number: int, collector: Collector) -> tuple[int, WholeFile]:
    """Find an entry; for a copy of another one, that one."""
    seen: dict[str, tuple[int, WholeFile]] = {}
    try:
        for index, file in enumerate(read_files(volumes, collector)):
            if index == number:
                return seen.get(file.header.copy_of, (index, file))
            if not file.header.copy_of:
                seen[file.header.name] = (index, file)
    except NamesEncrypted as error:
        raise EntryError("encrypted") from error
    raise EntryError("no_such_entry")


def _copy_stored(volumes: JoinedVolumes, file: WholeFile, sink: Sink) -> None:
    for start, length in file.spans:
        for at in range(start, start + length, PIECE):
            sink.write(volumes.read_at(at, min(PIECE, start + length - at)))


def _run_unpacker(unpacker: Path, paths: Sequence[Path], *, number: int, name: str, sink: Sink) -> None:
    with TemporaryDirectory(prefix="headgate-rar-") as folder:
        first = _link_volumes(Path(folder), paths)
        command = [str(unpacker), *_ARGUMENTS[unpacker.name](first, number, name)]
        running = subprocess.Popen(  # noqa: S603 - no shell, and no name of the archive as an option
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            preexec_fn=die_with_the_worker,  # noqa: PLW1509 - one thread waits in poll, and holds no lock
        )
        try:
            assert running.stdout is not None  # noqa: S101 - it is a pipe
            while piece := running.stdout.read(PIECE):
                sink.write(piece)
            if running.wait(_END_S):
                raise DamagedArchive(f"{unpacker.name} ended with {running.returncode}")
        finally:
            running.kill()
            running.wait()


def _link_volumes(folder: Path, paths: Sequence[Path]) -> Path:
    """Give the volumes the names by which programs find the next one."""
    if len(paths) == 1:
        names = ["a.rar"]
    elif _has_new_names(paths[0]):
        names = [f"a.part{index:05}.rar" for index in range(1, len(paths) + 1)]
    else:
        names = [
            "a.rar",
            *(f"a.{chr(ord('r') + index // 100)}{index % 100:02}" for index in range(len(paths) - 1)),
        ]
    for name, path in zip(names, paths, strict=True):
        (folder / name).symlink_to(path.absolute())
    return folder / names[0]


def _has_new_names(first: Path) -> bool:
    """RAR 5 always numbers its volumes; RAR 4 says so in its main header."""
    with first.open("rb") as file:
        head = file.read(13)
    return head[6:8] == b"\x01\x00" or bool(int.from_bytes(head[10:12], "little") & 0x10)


def _unar(archive: Path, number: int, _name: str) -> list[str]:
    return [
        "-quiet",
        "-no-recursion",
        "-forks",
        "skip",
        "-output-directory",
        "-",
        "-indexes",
        str(archive),
        str(number),
    ]


def _unrar(archive: Path, _number: int, name: str) -> list[str]:
    return ["p", "-inul", "-p-", "--", str(archive), _plain(name)]


def _7z(archive: Path, _number: int, name: str) -> list[str]:
    return ["e", "-so", "-bd", "-spd", "-p-", "--", str(archive), _plain(name)]


def _plain(name: str) -> str:
    """Refuse names that a program would read as a pattern or a list."""
    if _WILDCARDS.intersection(name) or "\0" in name:
        raise EntryError("unsupported", "this program cannot extract a file of that name; unar can")
    return name


_ARGUMENTS: dict[str, Callable[[Path, int, str], list[str]]] = {
    "unar": _unar,
    "unrar": _unrar,
    "7zz": _7z,
    "7z": _7z,
}
UNPACKERS = tuple(_ARGUMENTS)
