"""What the ends of volumes prove about their set, before anything big is fetched.

The first and the last 64 KiB of a volume are enough: a 7z names its size at the start, RAR says in each
volume whether another follows, and the last volume of a zip knows how many there are.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast
from zlib import crc32

from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER

SAMPLE_BYTES = 64 * 1024

VolumeFormat = Literal["zip", "rar4", "rar5", "7z"]
VolumeRole = Literal["alone", "volume", "unknown"]
ProofState = Literal["complete", "incomplete", "unknown", "contradictory"]
ProofReason = Literal[
    "all_bytes_there",
    "bytes_missing",
    "last_volume_there",
    "next_volume_missing",
    "volumes_missing",
    "wrong_order",
    "not_a_volume",
    "nothing_proven",
]


@dataclass(frozen=True)
class VolumeSample:
    """The ends of a volume; for a small one, both may be all of it."""

    size_bytes: int
    head: bytes
    tail: bytes = b""


@dataclass(frozen=True)
class VolumeFacts:
    """What the ends of one volume say; None where they say nothing."""

    format: VolumeFormat | None = None
    role: VolumeRole = "unknown"
    number: int | None = None
    """Its place in the set, from 1."""
    is_last: bool | None = None
    total_volumes: int | None = None
    total_bytes: int | None = None
    """The size of all volumes together."""


@dataclass(frozen=True)
class SetProof:
    """Whether a set is whole, why, and of how many volumes it is if that is known."""

    state: ProofState
    reason: ProofReason
    total_volumes: int | None = None


def read_volume(sample: VolumeSample) -> VolumeFacts:
    """Read what a volume says about itself: whether it is alone, its number, and whether it is the last."""
    if sample.head.startswith(_7Z):
        return _read_7z(sample)
    if sample.head.startswith(_RAR5):
        return _read_rar5(sample)
    if sample.head.startswith(_RAR4):
        return _read_rar4(sample)
    return _read_zip(sample)


def prove_set(volumes: Mapping[int, VolumeSample]) -> SetProof:
    """Judge a set by the volumes that are known, by their number from 1, or `ZIP_NUMBER` for a last `.zip`.

    All but the last volume of a set are equally large, which gives the number of volumes where only the
    number of bytes is known.
    """
    volumes = _with_numbered_zip(volumes)
    facts = {number: read_volume(sample) for number, sample in sorted(volumes.items())}
    if any(one.number not in {None, number} for number, one in facts.items()):
        return SetProof("contradictory", "wrong_order")
    if len(facts) > 1 and any(one.role == "alone" for one in facts.values()):
        return SetProof("contradictory", "not_a_volume")
    if total_bytes := _only(one.total_bytes for one in facts.values()):
        return _prove_by_bytes(volumes, total_bytes)
    total = _only(one.total_volumes for one in facts.values())
    last = max(facts, default=0)
    if total is None and last and facts[last].is_last:
        total = last
    if total is not None:
        return _prove_by_number(facts, total)
    is_zip = any(one.format == "zip" for one in facts.values())
    if last and (
        facts[last].is_last is False or (is_zip and facts[last].format is None and volumes[last].tail)
    ):
        return SetProof("incomplete", "next_volume_missing")
    return SetProof("unknown", "nothing_proven")


def _with_numbered_zip(volumes: Mapping[int, VolumeSample]) -> Mapping[int, VolumeSample]:
    """Give the `.zip` of a spanned zip its own number, which is known only once it is read."""
    if ZIP_NUMBER not in volumes:
        return volumes
    others = {number: sample for number, sample in volumes.items() if number != ZIP_NUMBER}
    number = read_volume(volumes[ZIP_NUMBER]).number or max(others, default=0) + 1
    # A number that is taken is told below: another volume says that it is the last.
    return {**others, number: volumes[ZIP_NUMBER]}


def _only(values: object) -> int | None:
    return next((value for value in cast("Sequence[int | None]", values) if value is not None), None)


def _prove_by_bytes(volumes: Mapping[int, VolumeSample], total_bytes: int) -> SetProof:
    there = sum(sample.size_bytes for sample in volumes.values())
    usual = volumes[min(volumes)].size_bytes if len(volumes) > 1 or 1 in volumes else 0
    total = -(-total_bytes // usual) if usual else None
    if there > total_bytes:
        return SetProof("contradictory", "wrong_order")
    if there == total_bytes and set(volumes) == set(range(1, len(volumes) + 1)):
        return SetProof("complete", "all_bytes_there", len(volumes))
    return SetProof("incomplete", "bytes_missing", total)


def _prove_by_number(facts: Mapping[int, VolumeFacts], total: int) -> SetProof:
    if max(facts) > total or any(one.is_last and number != total for number, one in facts.items()):
        return SetProof("contradictory", "wrong_order", total)
    if len(facts) < total:
        return SetProof("incomplete", "volumes_missing", total)
    return SetProof("complete", "last_volume_there", total)


# 7z: signature, version, CRC of the rest, and where the header is that ends the archive.

_7Z = b"7z\xbc\xaf\x27\x1c"
_7Z_START = struct.Struct("<6s2sIQQI")


def _read_7z(sample: VolumeSample) -> VolumeFacts:
    if len(sample.head) < _7Z_START.size:
        return VolumeFacts("7z")
    start = sample.head[: _7Z_START.size]
    _, _, start_crc, offset, size, _ = cast(
        "tuple[bytes, bytes, int, int, int, int]", _7Z_START.unpack(start)
    )
    if crc32(start[12:]) != start_crc:
        return VolumeFacts("7z")
    total = _7Z_START.size + offset + size
    if sample.size_bytes >= total:
        return VolumeFacts("7z", "alone", is_last=True)
    return VolumeFacts("7z", "volume", number=1, is_last=False, total_bytes=total)


# RAR 5: blocks of a CRC, and numbers of seven bits a byte.

_RAR5 = b"Rar!\x1a\x07\x01\x00"
_RAR5_MAIN, _RAR5_END = 1, 5
_RAR5_HAS_EXTRA, _RAR5_HAS_BODY = 1, 2
_RAR5_VOLUME, _RAR5_HAS_NUMBER, _RAR5_HAS_NEXT = 1, 2, 1


def _read_rar5(sample: VolumeSample) -> VolumeFacts:
    main = _rar5_block(sample.head, len(_RAR5))
    if main is None or main[0] != _RAR5_MAIN:
        # With encrypted headers the first block is another one, and the end cannot be read.
        return VolumeFacts("rar5")
    flags = main[1]
    if not flags & _RAR5_VOLUME:
        return VolumeFacts("rar5", "alone", is_last=True)
    number = main[2] + 1 if flags & _RAR5_HAS_NUMBER else 1
    return VolumeFacts("rar5", "volume", number=number, is_last=_rar5_is_last(sample.tail))


def _rar5_block(raw: bytes, at: int) -> tuple[int, int, int] | None:
    """Return the kind and the first two numbers of a block; None if it is not sound."""
    size, begin = _vint(raw, at + 4)
    end = begin + size
    if not size or end > len(raw) or crc32(raw[at + 4 : end]) != int.from_bytes(raw[at : at + 4], "little"):
        return None
    kind, begin = _vint(raw[:end], begin)
    flags, begin = _vint(raw[:end], begin)
    for flag in (_RAR5_HAS_EXTRA, _RAR5_HAS_BODY):
        if flags & flag:
            _, begin = _vint(raw[:end], begin)
    first, begin = _vint(raw[:end], begin)
    second, _ = _vint(raw[:end], begin)
    return kind, first, second


def _rar5_is_last(tail: bytes) -> bool | None:
    """Find the block that ends a volume; only zeros may follow it."""
    bare = len(tail.rstrip(b"\0"))
    for at in range(max(0, bare - 64), len(tail) - 6):
        block = _rar5_block(tail, at)
        if block is not None and block[0] == _RAR5_END:
            return not block[1] & _RAR5_HAS_NEXT
    return None


def _vint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends; zero at the end of the bytes."""
    value = shift = 0
    while at < len(raw) and shift < 64:
        value |= (raw[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if raw[at - 1] < 0x80:
            return value, at
    return 0, len(raw)


# RAR 4: blocks of a CRC, kind, flags and size.

_RAR4 = b"Rar!\x1a\x07\x00"
_RAR4_BLOCK = struct.Struct("<HBHH")
_RAR4_MAIN, _RAR4_END = 0x73, 0x7B
_RAR4_VOLUME, _RAR4_PASSWORD, _RAR4_FIRST = 0x1, 0x80, 0x100
_RAR4_HAS_NEXT, _RAR4_HAS_CRC, _RAR4_HAS_NUMBER = 0x1, 0x2, 0x8
_MAX_RAR4_END = 20


def _read_rar4(sample: VolumeSample) -> VolumeFacts:
    main = _rar4_block(sample.head, len(_RAR4))
    if main is None or main[0] != _RAR4_MAIN:
        return VolumeFacts("rar4")
    if not main[1] & _RAR4_VOLUME:
        return VolumeFacts("rar4", "alone", is_last=True)
    is_last, number = (None, None) if main[1] & _RAR4_PASSWORD else _rar4_end(sample.tail)
    return VolumeFacts("rar4", "volume", number=1 if main[1] & _RAR4_FIRST else number, is_last=is_last)


def _rar4_block(raw: bytes, at: int) -> tuple[int, int, bytes] | None:
    if at + _RAR4_BLOCK.size > len(raw):
        return None
    crc, kind, flags, size = cast("tuple[int, int, int, int]", _RAR4_BLOCK.unpack_from(raw, at))
    if size < _RAR4_BLOCK.size or at + size > len(raw) or crc32(raw[at + 2 : at + size]) & 0xFFFF != crc:
        return None
    return kind, flags, raw[at + _RAR4_BLOCK.size : at + size]


def _rar4_end(tail: bytes) -> tuple[bool | None, int | None]:
    """Return whether a volume is the last, and its number; old versions of RAR write neither."""
    bare = len(tail.rstrip(b"\0"))
    for at in range(max(0, bare - _MAX_RAR4_END - 7), len(tail) - 6):
        block = _rar4_block(tail, at)
        if block is None or block[0] != _RAR4_END:
            continue
        _, flags, rest = block
        begin = 4 if flags & _RAR4_HAS_CRC else 0
        number = int.from_bytes(rest[begin : begin + 2], "little") + 1 if flags & _RAR4_HAS_NUMBER else None
        return not flags & _RAR4_HAS_NEXT, number
    return None, None


# Zip: everything is at the end of the last volume.

_ZIP_ENTRY, _ZIP_SPLIT = b"PK\x03\x04", b"PK\x07\x08"
_ZIP_END = struct.Struct("<4s4H2IH")
_ZIP_LOCATOR = struct.Struct("<4sIQI")


def _read_zip(sample: VolumeSample) -> VolumeFacts:
    tail = sample.tail or (sample.head if len(sample.head) == sample.size_bytes else b"")
    if (at := _find_zip_end(tail)) is not None:
        return _read_zip_end(tail, at, sample.size_bytes)
    if sample.head.startswith(_ZIP_SPLIT):
        return VolumeFacts("zip", "volume", number=1, is_last=False)
    if sample.head.startswith(_ZIP_ENTRY):
        # Without a tail it may just as well be whole.
        return VolumeFacts("zip", "volume", number=1, is_last=False) if tail else VolumeFacts("zip")
    return VolumeFacts()


def _find_zip_end(tail: bytes) -> int | None:
    """Find the record that ends at the very end: one of a zip inside another may stand before it."""
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0:
        comment = int.from_bytes(tail[at + 20 : at + 22], "little")
        if at + _ZIP_END.size + comment == len(tail):
            return at
        at = tail.rfind(b"PK\x05\x06", 0, at)
    return None


def _read_zip_end(tail: bytes, at: int, size_bytes: int) -> VolumeFacts:
    _, disk, _, _, _, size, offset, _ = cast(
        "tuple[bytes, int, int, int, int, int, int, int]", _ZIP_END.unpack_from(tail, at)
    )
    begins_at, disks = at, disk + 1
    if at >= _ZIP_LOCATOR.size and tail.startswith(b"PK\x06\x07", at - _ZIP_LOCATOR.size):
        _, _, offset, disks = cast(
            "tuple[bytes, int, int, int]", _ZIP_LOCATOR.unpack_from(tail, at - _ZIP_LOCATOR.size)
        )
        begins_at, size = tail.rfind(b"PK\x06\x06", 0, at), 0
        if begins_at < 0:
            return VolumeFacts("zip")
    if disks > 1:
        return VolumeFacts("zip", "volume", number=disks, is_last=True, total_volumes=disks)
    total = offset + size + len(tail) - begins_at
    if total <= size_bytes:
        return VolumeFacts("zip", "alone", is_last=True)
    return VolumeFacts("zip", "volume", is_last=True, total_bytes=total)
