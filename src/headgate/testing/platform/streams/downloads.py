"""Downloads, chunk by chunk, with all that can go wrong in the middle."""

from __future__ import annotations

from collections.abc import AsyncIterator

from headgate.testing.platform.errors import SimBadRequest, SimDisconnected
from headgate.testing.platform.platform_state import PlatformState


async def chunks_of(
    world: PlatformState, account: str, content: bytes, *, offset: int
) -> AsyncIterator[bytes]:
    """Yield content from an offset on; it may be cut, too much, or break off."""
    profile = world.profile
    if offset and not profile.ranges:
        raise SimBadRequest("a download begins at 0 here")
    for start in range(offset, len(content), profile.chunk_bytes):
        if profile.chunk_s and start > offset:
            await world.clock.sleep(profile.chunk_s)
        yield content[start : start + profile.chunk_bytes]
        if world.on_point is not None:
            await world.on_point("download.chunk")
        if world.faults.strikes("disconnect", account):
            raise SimDisconnected("download")
        if world.faults.strikes("cut", account):
            # Silently only where the exact size tells.
            if not profile.exact_sizes:
                raise SimDisconnected("download")
            return
    if profile.exact_sizes and world.faults.strikes("excess", account):
        yield b"more than there is"
