"""Archives of one small tree, made by real tools, and byte by byte where no tool would."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import shutil
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from backports import zstd

from headgate.testing.rar_writer import write_rar

VOLUME_BYTES = 100 * 1024


def _noise(size: int) -> bytes:
    """Bytes that do not pack, the same in every run."""
    return b"".join(hashlib.sha256(n.to_bytes(4, "big")).digest() for n in range(size // 32))


TREE = {
    "tree/a.txt": b"hi\n",
    "tree/big.bin": _noise(300 * 1024),
    "tree/empty": b"",
    "tree/sub/grüße.txt": "Grüße\n".encode(),
    "tree/sub/日本語.txt": "日本語\n".encode() * 100,
}

Make = Callable[[Path], list[Path]]


def run(*command: str, folder: Path, stdin: bytes | None = None) -> None:
    program = shutil.which(command[0])
    assert program, f"The tests need the program {command[0]}; `make test` installs it."
    subprocess.run(
        [program, *command[1:]], cwd=folder, check=True, input=stdin, stdout=subprocess.DEVNULL, timeout=120
    )


def write_tree(folder: Path, tree: Mapping[str, bytes] = TREE) -> None:
    for name, content in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _by_tool(*command: str, made: Callable[[Path], Iterable[Path]]) -> Make:
    def make(folder: Path) -> list[Path]:
        write_tree(folder)
        run(*command, folder=folder)
        return list(made(folder))

    return make


def _named(*names: str) -> Callable[[Path], list[Path]]:
    return lambda folder: [folder / name for name in names]


def _matching(pattern: str, *last: str) -> Callable[[Path], list[Path]]:
    return lambda folder: [*sorted(folder.glob(pattern)), *(folder / name for name in last)]


def _packed_tar(pack: Callable[[bytes], bytes]) -> Make:
    def make(folder: Path) -> list[Path]:
        path = folder / "packed"
        path.write_bytes(pack(tar_of(TREE)))
        return [path]

    return make


def _split_tar(folder: Path) -> list[Path]:
    return split(folder, gzip.compress(tar_of(TREE)))


def _rar(volume_bytes: int | None) -> Make:
    def make(folder: Path) -> list[Path]:
        return store(folder, write_rar(TREE, volume_bytes=volume_bytes))

    return make


def store(folder: Path, volumes: Sequence[bytes]) -> list[Path]:
    """Store volumes under names that say nothing, as content-addressed files have."""
    paths = [folder / f"blob-{number}" for number in range(len(volumes))]
    for path, volume in zip(paths, volumes, strict=True):
        path.write_bytes(volume)
    return paths


def split(folder: Path, whole: bytes, size: int = VOLUME_BYTES) -> list[Path]:
    return store(folder, [whole[at : at + size] for at in range(0, len(whole), size)])


def zip_of(tree: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in tree.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_of(
    tree: Mapping[str, bytes], kind: int = tarfile.PAX_FORMAT, *, modified_s: int = 1_750_000_000
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        for name, content in tree.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), modified_s
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


SINGLE: dict[str, Make] = {
    "zip by Python": lambda folder: store(folder, [zip_of(TREE)]),
    "zip of lzma": lambda folder: store(folder, [zip_of(TREE, zipfile.ZIP_LZMA)]),
    "zip of bzip2": lambda folder: store(folder, [zip_of(TREE, zipfile.ZIP_BZIP2)]),
    "zip by zip": _by_tool("zip", "-qrD", "a.zip", "tree", made=_named("a.zip")),
    "zip64": _by_tool("zip", "-qrD", "-fz", "a.zip", "tree", made=_named("a.zip")),
    "7z": _by_tool("7z", "a", "-bd", "a.7z", "tree", made=_named("a.7z")),
    "7z of ppmd": _by_tool("7z", "a", "-bd", "-m0=PPMd", "a.7z", "tree", made=_named("a.7z")),
    "7z not solid": _by_tool("7z", "a", "-bd", "-ms=off", "a.7z", "tree", made=_named("a.7z")),
    "7z with a plain header": _by_tool("7z", "a", "-bd", "-mhc=off", "a.7z", "tree", made=_named("a.7z")),
    "tar of GNU": lambda folder: store(folder, [tar_of(TREE, tarfile.GNU_FORMAT)]),
    "tar by tar": _by_tool("tar", "--format=ustar", "-cf", "a.tar", "tree", made=_named("a.tar")),
    "tar": _packed_tar(bytes),
    "tar.gz": _packed_tar(gzip.compress),
    "tar.bz2": _packed_tar(bz2.compress),
    "tar.xz": _packed_tar(lzma.compress),
    "tar.zst": _packed_tar(zstd.compress),
    "rar5": _rar(None),
}
SETS: dict[str, Make] = {
    "z01 + zip": _by_tool(*("zip", "-qrD", "-s", "100k", "a.zip", "tree"), made=_matching("a.z0*", "a.zip")),
    "zip.001": _by_tool("7z", "a", "-bd", "-tzip", "-v100k", "a.zip", "tree", made=_matching("a.zip.*")),
    "7z.001": _by_tool("7z", "a", "-bd", "-v100k", "a.7z", "tree", made=_matching("a.7z.*")),
    "tar.gz.001": _split_tar,
    "part1.rar": _rar(VOLUME_BYTES),
}


def seven_zip_of_names(names: Sequence[str]) -> bytes:
    """Write a 7z of empty files: a small packed header that unpacks to any number of names."""
    flags = b"\xff" * (len(names) // 8) + (
        bytes((0xFF00 >> len(names) % 8 & 0xFF,)) if len(names) % 8 else b""
    )
    text = "".join(f"{name}\0" for name in names).encode("utf-16-le", "surrogatepass")
    properties = [(0x0E, flags), (0x0F, flags), (0x11, b"\0" + text)]
    header = b"\x01\x05" + _number(len(names))
    header += b"".join(bytes((kind,)) + _number(len(raw)) + raw for kind, raw in properties) + b"\0\0"
    window = 1 << 20
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": window, "lc": 3, "lp": 0, "pb": 2}]
    packed = lzma.compress(header, lzma.FORMAT_RAW, filters=filters)
    encoded = b"\x17\x06" + _number(0) + _number(1) + b"\x09" + _number(len(packed)) + b"\0"
    encoded += b"\x07\x0b\x01\0\x01\x23\x03\x01\x01\x05\x5d" + struct.pack("<I", window)
    encoded += b"\x0c" + _number(len(header)) + b"\x0a\x01" + struct.pack("<I", crc32(header)) + b"\0\0"
    start = struct.pack("<QQI", len(packed), len(encoded), crc32(encoded))
    return b"7z\xbc\xaf\x27\x1c\0\x04" + struct.pack("<I", crc32(start)) + start + packed + encoded


def _number(value: int) -> bytes:
    return b"\xff" + value.to_bytes(8, "little")


def zip_record(name: bytes, *, packed: int, size: int, offset: int, method: int = 8, crc: int = 0) -> bytes:
    """Write one record of a central directory, true or not."""
    extra = b""
    if max(packed, size) >= 0xFFFFFFFF:
        extra = struct.pack("<HHQQ", 1, 16, size, packed)
        packed = size = 0xFFFFFFFF
    fields = (0x031E, 45, 0x800, method, 0, 0x5AC5, crc, packed, size, len(name), len(extra), 0, 0, 0, 0)
    return b"PK\x01\x02" + struct.pack("<6H3I5H2I", *fields, offset) + name + extra


def zip_with(body: bytes, records: Sequence[bytes]) -> bytes:
    """Write a zip with a central directory of one's own making."""
    directory = b"".join(records)
    end = struct.pack(
        "<4s4H2IH", b"PK\x05\x06", 0, 0, len(records), len(records), len(directory), len(body), 0
    )
    return body + directory + end


def zip_entry(name: bytes, packed: bytes, *, size: int, method: int = 8, crc: int = 0) -> bytes:
    fields = (20, 0x800, method, 0, 0x5AC5, crc, len(packed), size, len(name), 0)
    return b"PK\x03\x04" + struct.pack("<5H3I2H", *fields) + name + packed
