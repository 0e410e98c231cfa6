"""The streams of a 7z header: what is packed, how, and into which files it unpacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.ingest.contents.collecting import DamagedArchive, Truncation, Unsupported

_END, _PACK, _FOLDERS, _SUBSTREAMS, _SIZE, _CRC = 0x00, 0x06, 0x07, 0x08, 0x09, 0x0A
_FOLDER, _UNPACK_SIZE, _NUMBER = 0x0B, 0x0C, 0x0D
_MAX_CODERS = 32
_METHOD_SIZE, _COMPLEX, _HAS_PROPERTIES = 0x0F, 0x10, 0x20
_AES = b"\x06\xf1\x07\x01"


class HeaderReader:
    """Reads a header from left to right."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.raw):
            raise Truncation("the header ends too early")
        self.at += 1
        return self.raw[self.at - 1]

    def take(self, count: int) -> bytes:
        if count > len(self.raw) - self.at:
            raise Truncation("the header ends too early")
        self.at += count
        return self.raw[self.at - count : self.at]

    def number(self) -> int:
        """Read a number whose first byte says how many more follow."""
        first = self.byte()
        if first < 0x80:
            return first
        more = 8 - (first ^ 0xFF).bit_length()
        low = int.from_bytes(self.take(more), "little")
        return low | (first & (0x7F >> more)) << (8 * more)

    def count(self) -> int:
        """Read how many things follow; each takes at least a bit."""
        count = self.number()
        if count > 8 * len(self.raw):
            raise DamagedArchive("more things announced than the header can hold")
        return count

    def bits(self, count: int) -> list[bool]:
        raw = self.take((count + 7) // 8)
        text = f"{int.from_bytes(raw, 'big'):0{8 * len(raw)}b}" if raw else ""
        return [bit == "1" for bit in text[:count]]

    def optional_bits(self, count: int) -> list[bool]:
        """Read bits that are left out when all are set."""
        return [True] * count if self.byte() else self.bits(count)

    def digests(self, count: int) -> list[int | None]:
        defined = self.optional_bits(count)
        return [int.from_bytes(self.take(4), "little") if there else None for there in defined]


@dataclass(frozen=True)
class Coder:
    """One step of unpacking."""

    method: bytes
    properties: bytes
    inputs: int
    outputs: int


@dataclass
class Folder:
    """Bytes that are packed together, and the steps that unpack them."""

    coders: list[Coder]
    bound_outputs: frozenset[int]
    packed_count: int
    unpack_sizes: list[int] = field(default_factory=list[int])
    crc32: int | None = None

    @property
    def unpack_size(self) -> int:
        """The size of the one output that no other step takes in."""
        for index in reversed(range(len(self.unpack_sizes))):
            if index not in self.bound_outputs:
                return self.unpack_sizes[index]
        raise DamagedArchive("unpacking that goes round in circles")


@dataclass
class Streams:
    """All of it; files without content have no stream."""

    pack_position: int = 0
    pack_sizes: list[int] = field(default_factory=list[int])
    folders: list[Folder] = field(default_factory=list[Folder])
    counts: list[int] = field(default_factory=list[int])
    """How many files each folder unpacks to."""
    sizes: list[int] = field(default_factory=list[int])
    digests: list[int | None] = field(default_factory=list["int | None"])

    def files(self) -> Iterator[tuple[int | None, int | None, int | None, bool]]:
        """Go through the files: size, packed size where it is the file's own, CRC, whether encrypted."""
        sizes, digests, pack = iter(self.sizes), iter(self.digests), 0
        for folder, count in zip(self.folders, self.counts, strict=True):
            packed = sum(self.pack_sizes[pack : pack + folder.packed_count])
            pack += folder.packed_count
            encrypted = needs_password(folder)
            for _ in range(count):
                yield next(sizes, None), packed if count == 1 else None, next(digests, None), encrypted


def needs_password(folder: Folder) -> bool:
    return any(coder.method == _AES for coder in folder.coders)


def read_streams(header: HeaderReader) -> Streams:
    """Read a description of streams."""
    streams = Streams()
    while (kind := header.byte()) != _END:
        if kind == _PACK:
            _read_pack(header, streams)
        elif kind == _FOLDERS:
            _read_folders(header, streams)
        elif kind == _SUBSTREAMS:
            _read_substreams(header, streams)
        else:
            raise DamagedArchive(f"unknown part {kind} of the streams")
    if not streams.counts:
        _assume_one_file_each(streams)
    return streams


def _read_pack(header: HeaderReader, streams: Streams) -> None:
    streams.pack_position = header.number()
    count = header.count()
    while (kind := header.byte()) != _END:
        if kind == _SIZE:
            streams.pack_sizes = [header.number() for _ in range(count)]
        elif kind == _CRC:
            header.digests(count)
        else:
            raise DamagedArchive(f"unknown part {kind} of the packed streams")


def _read_folders(header: HeaderReader, streams: Streams) -> None:
    if header.byte() != _FOLDER:
        raise DamagedArchive("folders without folders")
    count = header.count()
    if header.byte():
        raise Unsupported("folders outside the header")
    streams.folders = [_read_folder(header) for _ in range(count)]
    while (kind := header.byte()) != _END:
        if kind == _UNPACK_SIZE:
            for folder in streams.folders:
                outputs = sum(coder.outputs for coder in folder.coders)
                folder.unpack_sizes = [header.number() for _ in range(outputs)]
        elif kind == _CRC:
            for folder, digest in zip(streams.folders, header.digests(count), strict=True):
                folder.crc32 = digest
        else:
            raise DamagedArchive(f"unknown part {kind} of the folders")


def _read_folder(header: HeaderReader) -> Folder:
    count = header.number()
    if not 0 < count <= _MAX_CODERS:
        raise DamagedArchive(f"unpacking in {count} steps")
    coders = [_read_coder(header) for _ in range(count)]
    inputs, outputs = sum(coder.inputs for coder in coders), sum(coder.outputs for coder in coders)
    if max(inputs, outputs) > _MAX_CODERS or not outputs:
        raise DamagedArchive("unpacking with too many streams")
    bound = [(header.number(), header.number()) for _ in range(outputs - 1)]
    packed_count = inputs - len(bound)
    if packed_count < 1:
        raise DamagedArchive("unpacking without packed streams")
    if packed_count > 1:
        for _ in range(packed_count):
            header.number()
    return Folder(coders, frozenset(output for _, output in bound), packed_count)


def _read_coder(header: HeaderReader) -> Coder:
    flags = header.byte()
    method = header.take(flags & _METHOD_SIZE)
    inputs, outputs = (header.number(), header.number()) if flags & _COMPLEX else (1, 1)
    properties = header.take(header.number()) if flags & _HAS_PROPERTIES else b""
    return Coder(method, properties, inputs, outputs)


def _read_substreams(header: HeaderReader, streams: Streams) -> None:
    _assume_one_file_each(streams)
    kind = header.byte()
    if kind == _NUMBER:
        streams.counts = [header.count() for _ in streams.folders]
        kind = header.byte()
    streams.sizes = []
    for folder, count in zip(streams.folders, streams.counts, strict=True):
        if not count:
            continue
        known = [header.number() for _ in range(count - 1)] if kind == _SIZE else []
        streams.sizes += [*known, max(0, folder.unpack_size - sum(known))]
    if kind == _SIZE:
        kind = header.byte()
    streams.digests = _known_digests(streams)
    while kind != _END:
        if kind != _CRC:
            raise DamagedArchive(f"unknown part {kind} of the files")
        unknown = [index for index, digest in enumerate(streams.digests) if digest is None]
        for index, digest in zip(unknown, header.digests(len(unknown)), strict=True):
            streams.digests[index] = digest
        kind = header.byte()


def _assume_one_file_each(streams: Streams) -> None:
    streams.counts = [1] * len(streams.folders)
    streams.sizes = [folder.unpack_size for folder in streams.folders]
    streams.digests = [folder.crc32 for folder in streams.folders]


def _known_digests(streams: Streams) -> list[int | None]:
    """A folder's CRC is that of its file if it has only one."""
    known: list[int | None] = []
    for folder, count in zip(streams.folders, streams.counts, strict=True):
        known += [folder.crc32] if count == 1 else [None] * count
    return known
