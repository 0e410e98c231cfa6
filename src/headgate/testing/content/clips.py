"""Real little videos of an exact size, the same for the same seed: a few JPEG frames in an MP4 file."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from headgate.testing.content.pictures import build_picture

MIN_BYTES = 40_000
_FRAMES = 3
_FRAME_BYTES = 12_000
_WIDTH, _HEIGHT = 320, 180
_FRAMES_PER_S = 2
_IDENTITY = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def build_clip(seed: int, *, size_bytes: int) -> bytes:
    """Return an MP4 file that ffmpeg reads; its frames are alike but for the sun."""
    frames = [
        build_picture(seed, size_bytes=_FRAME_BYTES, width=_WIDTH, height=_HEIGHT, sun_shift=12 * n)
        for n in range(_FRAMES)
    ]
    front = _box("ftyp", b"isom\x00\x00\x02\x00isommp41")
    body = _box("mdat", b"".join(frames))
    clip = front + body + _movie(frames, start=len(front) + 8)
    return clip + _box("free", bytes(size_bytes - len(clip) - 8))


def _box(kind: str, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind.encode() + body


def _full(kind: str, body: bytes, *, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags) + body)


def _movie(frames: Sequence[bytes], *, start: int) -> bytes:
    timing = struct.pack(">2I", _FRAMES_PER_S, len(frames))
    rest = struct.pack(">I2x10x", 0x10000) + _IDENTITY + bytes(24)
    header = _full("mvhd", bytes(8) + timing + rest + struct.pack(">I", 2))
    return _box("moov", header + _track(frames, start=start))


def _track(frames: Sequence[bytes], *, start: int) -> bytes:
    size = struct.pack(">2I", _WIDTH << 16, _HEIGHT << 16)
    numbers = struct.pack(">4I", 1, 0, len(frames), 0)
    header = _full("tkhd", bytes(8) + numbers + bytes(12) + _IDENTITY + size, flags=7)
    timing = bytes(8) + struct.pack(">2I", _FRAMES_PER_S, len(frames)) + b"\x55\xc4\x00\x00"
    handler = _full("hdlr", bytes(4) + b"vide" + bytes(12) + b"video\x00")
    reference = _box("dinf", _full("dref", struct.pack(">I", 1) + _full("url ", b"", flags=1)))
    table = _full("vmhd", bytes(8), flags=1) + reference + _box("stbl", _samples(frames, start=start))
    return _box("trak", header + _box("mdia", _full("mdhd", timing) + handler + _box("minf", table)))


def _samples(frames: Sequence[bytes], *, start: int) -> bytes:
    count = len(frames)
    form = struct.pack(">6xH16x2H2I4xH32xHh", 1, _WIDTH, _HEIGHT, 72 << 16, 72 << 16, 1, 24, -1)
    tables = (
        _full("stsd", struct.pack(">I", 1) + _box("jpeg", form)),
        _full("stts", struct.pack(">3I", 1, count, 1)),
        _full("stsc", struct.pack(">4I", 1, 1, count, 1)),
        _full("stsz", struct.pack(f">2I{count}I", 0, count, *map(len, frames))),
        _full("stco", struct.pack(">2I", 1, start)),
    )
    return b"".join(tables)
