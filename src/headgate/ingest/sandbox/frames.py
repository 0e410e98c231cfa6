"""The frames between the pool and its subprocesses: a kind, two lengths, JSON, and bytes."""

from __future__ import annotations

import json
import struct
from asyncio import IncompleteReadError, StreamReader
from dataclasses import dataclass
from typing import IO, Any, Literal, cast

Kind = Literal["task", "ready", "chunk", "answer", "failed"]

_KINDS: tuple[Kind, ...] = ("task", "ready", "chunk", "answer", "failed")
_HEADER = struct.Struct("<2sBIQ")
_MARK = b"HG"


class BrokenFrame(Exception):
    """The other side does not speak the protocol, or says too much."""


@dataclass(frozen=True)
class Frame:
    """One message of the protocol."""

    kind: Kind
    value: Any = None
    body: bytes = b""


def encode_frame(frame: Frame) -> bytes:
    text = json.dumps(frame.value, separators=(",", ":"), check_circular=False).encode("ascii")
    return _HEADER.pack(_MARK, _KINDS.index(frame.kind), len(text), len(frame.body)) + text + frame.body


def _decode_header(header: bytes, max_bytes: int) -> tuple[Kind, int, int]:
    mark, kind, text_length, body_length = cast("tuple[bytes, int, int, int]", _HEADER.unpack(header))
    if mark != _MARK or kind >= len(_KINDS):
        raise BrokenFrame("it does not begin like a frame")
    if text_length + body_length > max_bytes:
        raise BrokenFrame(f"a frame of {text_length + body_length} bytes, and {max_bytes} are allowed")
    return _KINDS[kind], text_length, body_length


def _decode_value(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFrame("a frame without JSON") from error


async def receive_frame(reader: StreamReader, *, max_bytes: int) -> Frame | None:
    """Read a frame; None if the other side has ended."""
    try:
        kind, text_length, body_length = _decode_header(await reader.readexactly(_HEADER.size), max_bytes)
        value = _decode_value(await reader.readexactly(text_length))
        return Frame(kind, value, await reader.readexactly(body_length))
    except (IncompleteReadError, ConnectionError):
        return None


def read_frame(stream: IO[bytes], *, max_bytes: int = 2**30) -> Frame | None:
    """Read a frame in the subprocess; None if the pool has ended."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    kind, text_length, body_length = _decode_header(header, max_bytes)
    return Frame(kind, _decode_value(stream.read(text_length)), stream.read(body_length))
