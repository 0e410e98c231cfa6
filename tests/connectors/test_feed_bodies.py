"""The body of an answer is unpacked whole, whatever its pieces, and never beyond its bound."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from headgate.connectors.feeds.bodies import read_body
from headgate.domain.errors import Malformed


async def unpack(body: bytes, *, piece_bytes: int, coding: str = "gzip", max_bytes: int = 10**6) -> bytes:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), piece_bytes):
            yield body[start : start + piece_bytes]

    return await read_body(pieces(), coding=coding, max_bytes=max_bytes)


@pytest.mark.parametrize("piece_bytes", [1, 7, 100_000])
async def test_all_members_of_a_gzip_file_are_read(piece_bytes: int) -> None:
    members = [b"first" * 1000, b"", b"second" * 40_000, b"third"]
    body = b"".join(gzip.compress(member) for member in members)
    assert await unpack(body, piece_bytes=piece_bytes) == b"".join(members)


@pytest.mark.parametrize("padding", [b"\0" * 100, b"\x1f", b"behind the end"])
@pytest.mark.parametrize("piece_bytes", [1, 100_000])
async def test_what_stands_behind_the_last_member_is_left_out(padding: bytes, piece_bytes: int) -> None:
    assert await unpack(gzip.compress(b"all") + padding, piece_bytes=piece_bytes) == b"all"


async def test_members_without_end_are_refused() -> None:
    with pytest.raises(Malformed, match="more parts"):
        await unpack(gzip.compress(b"") * 2000, piece_bytes=100_000)


async def test_members_together_stay_within_the_bound() -> None:
    with pytest.raises(Malformed, match="HEADGATE_FEEDS_MAX_BYTES"):
        await unpack(gzip.compress(b"x" * 600) * 2, piece_bytes=100_000, max_bytes=1000)


@pytest.mark.parametrize("raw", [True, False])
async def test_deflate_comes_with_a_header_or_without(*, raw: bool) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS if raw else zlib.MAX_WBITS)
    body = packer.compress(b"text" * 100) + packer.flush()
    assert await unpack(body, piece_bytes=10, coding="deflate") == b"text" * 100
