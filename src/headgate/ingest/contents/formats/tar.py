"""Tar: headers of 512 bytes, read directly.

The standard library's reader ends silently at a damaged header, and reads extended headers of any size into
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from headgate.ingest.contents.collecting import DIRECTORY, LINK, Collector, DamagedArchive, Truncation

BLOCK = 512
_MAX_EXTENDED = 2**20
_SKIP_AT_ONCE = 2**20
_ZEROS = bytes(BLOCK)
_MAGIC_AT, _CHECKSUM_AT = 257, 148


@dataclass(slots=True)
class TarEntry:
    """One entry, and how many bytes of content follow its header."""

    name: str
    size: int
    stored: int
    modified_s: float | None
    is_directory: bool
    is_link: bool
    is_sparse: bool


def looks_like_tar(block: bytes) -> bool:
    return len(block) == BLOCK and block != _ZEROS and _has_checksum(block)


def list_tar(stream: IO[bytes], collector: Collector, *, packed_bytes: Callable[[], int]) -> None:
    """Collect the entries of an unpacked stream, reading through it."""
    try:
        for entry in read_entries(stream):
            collector.add(
                entry.name,
                size=entry.size,
                packed=None,
                modified_s=entry.modified_s,
                flags=(DIRECTORY if entry.is_directory else 0) | (LINK if entry.is_link else 0),
            )
            collector.check_time()
            skip(stream, entry.stored, collector.check_time)
    finally:
        collector.judge_sizes(packed_bytes())


def read_entries(stream: IO[bytes]) -> Iterator[TarEntry]:
    """Go through the entries; the caller reads or skips each one's content, with its padding."""
    overrides: dict[str, str] = {}
    defaults: dict[str, str] = {}
    is_first = True
    while True:
        block = _read_block(stream, is_first=is_first)
        is_first = False
        if block == _ZEROS:
            return
        if not _has_checksum(block):
            raise DamagedArchive("a header is damaged")
        kind, size = block[156:157], _number(block[124:136])
        if kind in b"xgXLK" and kind:
            _read_extended(stream, kind, size, overrides=overrides, defaults=defaults)
            continue
        yield _entry(stream, block, kind, size, {**defaults, **overrides})
        overrides.clear()


def skip(stream: IO[bytes], size: int, check: Callable[[], None]) -> None:
    """Pass over an entry's content and its padding."""
    left = _padded(size)
    if stream.seekable():
        if left and (stream.seek(left - 1, 1), stream.read(1))[1] == b"":
            raise Truncation("a file inside ends too early")
        return
    while left > 0:
        piece = stream.read(min(left, _SKIP_AT_ONCE))
        if not piece:
            raise Truncation("a file inside ends too early")
        left -= len(piece)
        check()


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _read_block(stream: IO[bytes], *, is_first: bool) -> bytes:
    block = stream.read(BLOCK)
    # Some tools leave out the zeros at the end.
    if not block and not is_first:
        return _ZEROS
    if len(block) < BLOCK:
        raise Truncation("a header ends too early")
    return block


def _has_checksum(block: bytes) -> bool:
    try:
        announced = _number(block[_CHECKSUM_AT : _CHECKSUM_AT + 8])
    except DamagedArchive:
        return False
    blanked = block[:_CHECKSUM_AT] + b" " * 8 + block[_CHECKSUM_AT + 8 :]
    if (total := sum(blanked)) == announced:
        return True
    # Some old tools summed up signed bytes.
    return total - 256 * sum(byte > 127 for byte in blanked) == announced


def _number(field: bytes) -> int:
    if field[:1] in {b"\x80", b"\xff"}:
        if field[0] == 0xFF:
            raise DamagedArchive("a negative number")
        return int.from_bytes(field[1:], "big")
    text = field.split(b"\0", 1)[0].strip()
    if not text:
        return 0
    if not text.isdigit() or b"8" in text or b"9" in text:
        raise DamagedArchive("a number that is none")
    return int(text, 8)


def _read_extended(
    stream: IO[bytes], kind: bytes, size: int, *, overrides: dict[str, str], defaults: dict[str, str]
) -> None:
    if size > _MAX_EXTENDED:
        raise DamagedArchive("an extended header is too large")
    content = stream.read(_padded(size))
    if len(content) < size:
        raise Truncation("an extended header ends too early")
    content = content[:size]
    if kind == b"L":
        overrides["path"] = _text(content.split(b"\0", 1)[0])
    elif kind in b"xX":
        overrides |= _read_records(content)
    elif kind == b"g":
        defaults |= _read_records(content)


def _read_records(content: bytes) -> dict[str, str]:
    """Read lines of `length key=value`, where the length counts itself."""
    records: dict[str, str] = {}
    at = 0
    while at < len(content) and content[at : at + 1] != b"\0":
        digits, space, _ = content[at : at + 20].partition(b" ")
        if not space or not digits.isdigit() or int(digits) <= len(digits):
            raise DamagedArchive("an extended header is damaged")
        key, _, value = content[at + len(digits) + 1 : at + int(digits) - 1].partition(b"=")
        records[_text(key)] = _text(value)
        at += int(digits)
    return records


def _entry(stream: IO[bytes], block: bytes, kind: bytes, size: int, extended: dict[str, str]) -> TarEntry:
    stored = _decimal(extended.get("size"), size)
    real = stored
    is_sparse = any(key.startswith("GNU.sparse.") for key in extended)
    if kind == b"S":
        is_sparse, real = True, _number(block[483:495])
        more = block[482]
        while more:
            more = _read_block(stream, is_first=True)[504]
    if kind in b"12345" and kind:
        # Links, devices and directories have no content, whatever their header says; a hard link may.
        stored = stored if kind == b"1" and _is_posix(block) else 0
        real = stored
    name = extended.get("GNU.sparse.name") or extended.get("path") or _name_of(block)
    return TarEntry(
        name=name,
        size=_decimal(extended.get("GNU.sparse.realsize") or extended.get("GNU.sparse.size"), real),
        stored=stored,
        modified_s=_time(extended.get("mtime"), block),
        is_directory=kind == b"5" or (kind in b"\x000" and name.endswith("/")),
        is_link=kind in b"12" and bool(kind),
        is_sparse=is_sparse,
    )


def _is_posix(block: bytes) -> bool:
    return block[_MAGIC_AT : _MAGIC_AT + 6] == b"ustar\0"


def _name_of(block: bytes) -> str:
    name = _text(block[:100].split(b"\0", 1)[0])
    prefix = _text(block[345:500].split(b"\0", 1)[0]) if _is_posix(block) else ""
    return f"{prefix}/{name}" if prefix else name


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _decimal(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise DamagedArchive("a size that is none")
    return int(text)


def _time(text: str | None, block: bytes) -> float | None:
    try:
        return float(text) if text else float(_number(block[136:148]))
    except (ValueError, DamagedArchive):
        return None
