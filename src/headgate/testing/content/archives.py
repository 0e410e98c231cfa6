"""Real archives of an exact size, made of their members alone.

Members are stored, not compressed, so the size of an archive is linear in theirs: the last member is
lengthened until the archive has the size that its message announced long before the bytes were made.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from binascii import crc32
from collections.abc import Callable, Sequence
from typing import Literal

ArchiveFormat = Literal["zip", "tar.gz", "7z", "rar"]
Member = tuple[str, bytes]

_DATE = (2026, 1, 1, 12, 0, 0)


def build_archive(archive_format: ArchiveFormat, members: Sequence[Member], *, size_bytes: int) -> bytes:
    """Return an archive with these members (at least two), exactly as large as asked for."""
    if archive_format == "tar.gz":
        return _tar_gz(members).ljust(size_bytes, b"\0")  # gzip allows for zeros at its end
    if archive_format == "rar":
        return build_rar_volumes(members, volumes=1, size_bytes=size_bytes)[0]
    return _filled(_zip if archive_format == "zip" else _seven_zip, members, size_bytes)


def split_archive(
    archive_format: Literal["zip", "7z"], members: Sequence[Member], *, parts: int, size_bytes: int
) -> list[bytes]:
    """Return an archive cut into parts of one size each, as `.z01` and `.7z.001` sets are."""
    whole = build_archive(archive_format, members, size_bytes=parts * size_bytes)
    return [whole[start : start + size_bytes] for start in range(0, len(whole), size_bytes)]


def _filled(write: Callable[[Sequence[Member]], bytes], members: Sequence[Member], size_bytes: int) -> bytes:
    *first, (name, content) = members
    missing = size_bytes - len(write(members))
    if missing < 0:
        raise ValueError(f"the members do not fit into {size_bytes} bytes: {-missing} too many")
    return write([*first, (name, content + b" " * missing)])


def _zip(members: Sequence[Member]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
    return buffer.getvalue()


def _tar_gz(members: Sequence[Member]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _seven_zip(members: Sequence[Member]) -> bytes:
    """Write one folder with the copy codec; layout as in the 7z format's own description."""
    packed = b"".join(content for _, content in members)
    names = b"".join(name.encode("utf-16-le") + b"\0\0" for name, _ in members)
    digests = b"".join(struct.pack("<I", crc32(content)) for _, content in members)
    header = b"".join(
        (
            b"\x01\x04",
            b"\x06" + _seven_number(0) + b"\x01\x09" + _seven_number(len(packed)) + b"\x00",
            b"\x07\x0b\x01\x00\x01\x01\x00\x0c" + _seven_number(len(packed)) + b"\x00",
            b"\x08\x0d" + _seven_number(len(members)),
            b"\x09" + b"".join(_seven_number(len(content)) for _, content in members[:-1]),
            b"\x0a\x01" + digests + b"\x00\x00",
            b"\x05" + _seven_number(len(members)),
            b"\x11" + _seven_number(len(names) + 1) + b"\x00" + names + b"\x00\x00",
        )
    )
    start = struct.pack("<QQI", len(packed), len(header), crc32(header))
    return b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", crc32(start)) + start + packed + header


def _seven_number(value: int) -> bytes:
    """Encode in the longest form, so that a larger member does not lengthen the header."""
    return b"\xff" + struct.pack("<Q", value)


def build_rar_volumes(members: Sequence[Member], *, volumes: int, size_bytes: int) -> list[bytes]:
    """Return RAR 5 volumes of one size; all members but the last lie in the first volume."""
    *first, (name, content) = members
    fronts = [_rar_front(volume, volumes, first if volume == 0 else ()) for volume in range(volumes)]
    overhead = len(_rar_file(name, b"", checksum=0, total_bytes=0)) + len(_rar_end(last=True))
    room = [size_bytes - len(front) - overhead for front in fronts]
    if min(room) < 0 or sum(room) < len(content):
        raise ValueError(f"the members do not fit into {volumes} volumes of {size_bytes} bytes")
    content = content.ljust(sum(room), b" ")
    answer: list[bytes] = []
    start = 0
    for volume, front in enumerate(fronts):
        piece = content[start : start + room[volume]]
        start += room[volume]
        last = volume == volumes - 1
        body = _rar_file(
            name,
            piece,
            checksum=crc32(content) if last else crc32(piece),
            total_bytes=len(content),
            split=(volume > 0, not last),
        )
        answer.append(front + body + _rar_end(last=last))
    return answer


def _rar_front(volume: int, volumes: int, members: Sequence[Member]) -> bytes:
    flags = (1 if volumes > 1 else 0) | (2 if volume else 0)
    fields = _rar_number(flags) + (_rar_number(volume) if volume else b"")
    files = (_rar_file(name, body, checksum=crc32(body), total_bytes=len(body)) for name, body in members)
    return b"Rar!\x1a\x07\x01\x00" + _rar_block(b"\x01\x00" + fields) + b"".join(files)


def _rar_file(
    name: str,
    content: bytes,
    *,
    checksum: int,
    total_bytes: int,
    split: tuple[bool, bool] = (False, False),
) -> bytes:
    flags = 0x02 | (0x08 if split[0] else 0) | (0x10 if split[1] else 0)
    title = name.encode()
    fields = b"".join(
        (
            bytes((2, flags)),
            _rar_number(len(content)),
            b"\x04" + _rar_number(total_bytes) + b"\x00",
            struct.pack("<I", checksum),
            b"\x00\x01" + _rar_number(len(title)) + title,
        )
    )
    return _rar_block(fields) + content


def _rar_end(*, last: bool) -> bytes:
    return _rar_block(b"\x05\x00" + _rar_number(0 if last else 1))


def _rar_block(fields: bytes) -> bytes:
    sized = _rar_number(len(fields)) + fields
    return struct.pack("<I", crc32(sized)) + sized


def _rar_number(value: int) -> bytes:
    """Encode in three bytes always, so that a larger member does not lengthen its header."""
    if value >= 1 << 21:
        raise ValueError("simulated archives are smaller than 2 MB")
    return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
