"""Zip archives with a password, by the old cipher that every program reads."""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Sequence

from headgate.testing.content.archives import Member

_TABLE = [crc32(bytes((byte,)), 0xFFFFFFFF) ^ 0xFFFFFFFF for byte in range(256)]
_DATE = 12 << 11, (2026 - 1980) << 9 | 1 << 5 | 1


def build_encrypted_zip(members: Sequence[Member], *, password: str) -> bytes:
    """Return an archive of stored members; names can be read without the password."""
    body, directory = b"", b""
    for name, content in members:
        checksum, title = crc32(content), name.encode()
        packed = _encrypt(bytes(11) + bytes((checksum >> 24,)) + content, password.encode())
        fields = struct.pack("<5H3I2H", 20, 1, 0, *_DATE, checksum, len(packed), len(content), len(title), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields
        directory += struct.pack("<3H2I", 0, 0, 0, 0, len(body)) + title
        body += b"PK\x03\x04" + fields + title + packed
    count = len(members)
    end = struct.pack("<4H2IH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def _encrypt(plain: bytes, password: bytes) -> bytes:
    keys = (0x12345678, 0x23456789, 0x34567890)
    for byte in password:
        keys = _next_keys(keys, byte)
    answer = bytearray()
    for byte in plain:
        mixed = keys[2] | 2
        answer.append(byte ^ (mixed * (mixed ^ 1) >> 8 & 0xFF))
        keys = _next_keys(keys, byte)
    return bytes(answer)


def _next_keys(keys: tuple[int, int, int], byte: int) -> tuple[int, int, int]:
    first = _step(keys[0], byte)
    second = ((keys[1] + (first & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
    return first, second, _step(keys[2], second >> 24)


def _step(key: int, byte: int) -> int:
    return key >> 8 ^ _TABLE[(key ^ byte) & 0xFF]
