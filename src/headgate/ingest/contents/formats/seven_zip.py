"""7z: the header at the end of the archive, read directly.

py7zr reads the whole header before it shows anything; a header of 68 KB can hold 200,000 names.
"""

from __future__ import annotations

import lzma
import struct
from typing import Any, cast
from zlib import crc32

from headgate.ingest.contents.collecting import (
    DIRECTORY,
    ENCRYPTED,
    LINK,
    Collector,
    DamagedArchive,
    NamesEncrypted,
    Truncation,
    Unsupported,
)
from headgate.ingest.contents.formats.seven_zip_streams import (
    HeaderReader,
    Streams,
    needs_password,
    read_streams,
)
from headgate.ingest.contents.joined import JoinedVolumes, MissingVolume

SIGNATURE = b"7z\xbc\xaf\x27\x1c"
START_SIZE = 32
MAX_HEADER_BYTES = 64 * 2**20
_START = struct.Struct("<6s2sIQQI")

_END, _HEADER, _PROPERTIES, _ADDITIONAL, _MAIN_STREAMS, _FILES = 0, 1, 2, 3, 4, 5
_EMPTY_STREAM, _EMPTY_FILE, _NAMES, _MODIFIED, _ATTRIBUTES, _ENCODED = 0x0E, 0x0F, 0x11, 0x14, 0x15, 0x17
_MAX_ENCODINGS = 4
_EPOCH_1601_S = 11_644_473_600
_ATTRIBUTE_LINK, _ATTRIBUTE_UNIX = 0x400, 0x8000
_IFMT, _IFLNK = 0o170000, 0o120000


def list_7z(volumes: JoinedVolumes, collector: Collector) -> None:
    """Collect the entries of the header."""
    header = HeaderReader(_read_header(volumes))
    streams = Streams()
    if not header.raw:
        return
    if header.byte() != _HEADER:
        raise DamagedArchive("the header does not begin like one")
    try:
        while (kind := header.byte()) != _END:
            if kind == _PROPERTIES:
                _skip_properties(header)
            elif kind == _ADDITIONAL:
                read_streams(header)
            elif kind == _MAIN_STREAMS:
                streams = read_streams(header)
            elif kind == _FILES:
                _collect_files(header, streams, collector)
            else:
                raise DamagedArchive(f"unknown part {kind} of the header")
    finally:
        collector.is_solid = any(count > 1 for count in streams.counts)
        collector.judge_sizes(volumes.size)


def _read_header(volumes: JoinedVolumes) -> bytes:
    start = volumes.read_at(0, START_SIZE)
    if len(start) < START_SIZE:
        raise Truncation("the start header ends too early")
    _, _, start_crc, offset, size, header_crc = cast(
        "tuple[bytes, bytes, int, int, int, int]", _START.unpack(start)
    )
    if crc32(start[12:]) != start_crc:
        raise DamagedArchive("the CRC of the start header is wrong")
    if START_SIZE + offset + size > volumes.size:
        missing = f"{START_SIZE + offset + size} bytes announced, {volumes.size} found"
        raise MissingVolume(missing) if volumes.count > 1 else Truncation(missing)
    if size > MAX_HEADER_BYTES:
        raise Unsupported("the header is too large")
    header = volumes.read_at(START_SIZE + offset, size)
    if crc32(header) != header_crc:
        raise DamagedArchive("the CRC of the header is wrong")
    for _ in range(_MAX_ENCODINGS):
        if header[:1] != bytes((_ENCODED,)):
            return header
        header = _decode_header(volumes, header)
    raise DamagedArchive("the header is packed too often")


def _decode_header(volumes: JoinedVolumes, header: bytes) -> bytes:
    """Unpack a packed header."""
    reader = HeaderReader(header)
    reader.byte()
    streams = read_streams(reader)
    if not streams.folders or not streams.pack_sizes:
        raise DamagedArchive("a packed header without streams")
    folder = streams.folders[0]
    if needs_password(folder):
        raise NamesEncrypted
    size = folder.unpack_size
    if size > MAX_HEADER_BYTES:
        raise Unsupported("the header is too large")
    if streams.pack_sizes[0] > volumes.size:
        raise DamagedArchive("a packed header larger than the archive")
    packed = volumes.read_at(START_SIZE + streams.pack_position, streams.pack_sizes[0])
    filters = [_filter_of(coder.method, coder.properties, size) for coder in folder.coders]
    if None in filters:
        if len(filters) > 1:
            raise Unsupported("the header is packed in an unusual way")
        unpacked = packed[:size]
    else:
        try:
            decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=cast("Any", filters))
            unpacked = decoder.decompress(packed, size)
        except lzma.LZMAError as error:
            raise DamagedArchive(f"the header cannot be unpacked: {error}") from error
    if len(unpacked) != size or (folder.crc32 is not None and crc32(unpacked) != folder.crc32):
        raise DamagedArchive("the unpacked header is damaged")
    return unpacked


def _filter_of(method: bytes, properties: bytes, size: int) -> dict[str, int] | None:
    """Return the standard library's name for a method; None for no packing at all."""
    # A window larger than what comes out is never needed, and a hostile one takes all memory.
    window = max(size, 4096)
    if method == b"\x00":
        return None
    if method == b"\x03\x01\x01" and len(properties) == 5 and properties[0] < 225:
        packed, dict_size = struct.unpack("<BI", properties)
        return {
            "id": lzma.FILTER_LZMA1,
            "dict_size": max(4096, min(dict_size, window)),
            "lc": packed % 9,
            "lp": packed // 9 % 5,
            "pb": packed // 45,
        }
    if method == b"\x21" and len(properties) == 1 and properties[0] <= 40:
        bits = properties[0]
        dict_size = 0xFFFFFFFF if bits == 40 else (2 | bits & 1) << (bits // 2 + 11)
        return {"id": lzma.FILTER_LZMA2, "dict_size": max(4096, min(dict_size, window))}
    raise Unsupported(f"the header is packed with method {method.hex()}")


def _skip_properties(header: HeaderReader) -> None:
    while header.byte() != _END:
        header.take(header.number())


def _collect_files(header: HeaderReader, streams: Streams, collector: Collector) -> None:
    count = header.number()
    properties: dict[int, HeaderReader] = {}
    while (kind := header.number()) != _END:
        properties[kind] = HeaderReader(header.take(header.number()))
    empty = properties.get(_EMPTY_STREAM)
    names = properties.get(_NAMES)
    listed = min(count, collector.limits.max_entries + 1)
    if count > len(names.raw if names else b"") // 2:
        raise DamagedArchive("more files than names")
    without_stream = empty.bits(count) if empty else [False] * listed
    is_file = properties[_EMPTY_FILE].bits(sum(without_stream)) if _EMPTY_FILE in properties else []
    modified = _read_times(properties.get(_MODIFIED), count)
    attributes = _read_attributes(properties.get(_ATTRIBUTES), count)
    sizes = streams.files()
    emptied = iter(is_file)
    name_list = _read_names(names, count) if names else []
    for index, name in enumerate(name_list):
        attribute = attributes[index] if attributes else None
        size, packed, crc, encrypted, is_directory = 0, 0, None, False, False
        if without_stream[index]:
            is_directory = not next(emptied, False)
        else:
            size, packed, crc, encrypted = next(sizes, (None, None, None, False))
        collector.add(
            name,
            size=size,
            packed=packed,
            modified_s=modified[index] if modified else None,
            crc32=crc,
            flags=(DIRECTORY if is_directory else 0)
            | (ENCRYPTED if encrypted else 0)
            | (LINK if _is_link(attribute) else 0),
        )


def _read_names(names: HeaderReader, count: int) -> list[str]:
    if names.byte():
        raise Unsupported("names outside the header")
    text = names.raw[1:].decode("utf-16-le", "surrogatepass")
    found = text.split("\0")
    if len(found) <= count:
        raise DamagedArchive("fewer names than files")
    return found[:count]


def _is_link(attribute: int | None) -> bool:
    if attribute is None:
        return False
    if attribute & _ATTRIBUTE_UNIX:
        return (attribute >> 16) & _IFMT == _IFLNK
    return bool(attribute & _ATTRIBUTE_LINK)


def _read_times(times: HeaderReader | None, count: int) -> list[float | None]:
    return [
        None if ticks is None else ticks / 10_000_000 - _EPOCH_1601_S
        for ticks in (_read_defined(times, count, "Q") if times else [])
    ]


def _read_attributes(attributes: HeaderReader | None, count: int) -> list[int | None]:
    return _read_defined(attributes, count, "I") if attributes else []


def _read_defined(reader: HeaderReader, count: int, code: str) -> list[int | None]:
    """Read a number for each file that has one."""
    defined = reader.optional_bits(count)
    if reader.byte():
        raise Unsupported("properties outside the header")
    wanted = sum(defined)
    fields = struct.Struct(f"<{wanted}{code}")
    numbers = iter(cast("tuple[int, ...]", fields.unpack(reader.take(fields.size))))
    return [next(numbers) if there else None for there in defined]
