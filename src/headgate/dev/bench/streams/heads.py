"""How many calls it takes to learn the newest messages of 1,000 streams, by platform.

The connectors are the real ones. Matrix and Discord are stand-ins on loopback that count their requests; the
simulated platform counts its own calls. Streams are asked for as a check does it: as many at once as the
manifest allows, whichever server they are on.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec

from headgate.connectors.protocol import Link, Manifest
from headgate.dev.bench.measuring import Figure, Report
from headgate.domain.errors import UserError
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.kernel.connector_settings import DiscordSettings, MatrixSettings
from headgate.testing import PRESETS, SimulatedConnector, World
from headgate.testing.memory import VolatileMemory

STREAMS = 1_000
READER = "reader"
LIBRARIES = {"simulated": "headgate", "matrix": "nio", "discord": "aiohttp"}
"""The platforms that can be measured, and what each needs to be installed."""


@dataclass(frozen=True)
class HeadCalls:
    """What the heads of 1,000 streams cost on one platform."""

    streams_per_call: float
    calls_1000: int
    """While nobody listens."""
    calls_1000_listening: int | None = None
    """While the connector hears of new messages; empty where that makes no difference."""


async def measure_heads(platforms: Sequence[str]) -> Report:
    """Count the calls on some platforms; on all that are installed if none is named."""
    named = platforms or [name for name, library in LIBRARIES.items() if find_spec(library)]
    measured = {name: await _measurement_of(name)() for name in named}
    return _report(measured)


def _measurement_of(name: str) -> Callable[[], Awaitable[HeadCalls]]:
    measurements = {"simulated": _measure_simulated, "matrix": _measure_matrix, "discord": _measure_discord}
    if name not in measurements:
        raise UserError(
            f"There is no platform {name!r} to measure.", remedy=f"Choose one of {', '.join(measurements)}."
        )
    if find_spec(LIBRARIES[name]) is None:
        raise UserError(f"The library for {name} is not installed.", remedy=f"pip install 'headgate[{name}]'")
    return measurements[name]


async def _measure_simulated() -> HeadCalls:
    world = World(1, VirtualClock(datetime(2026, 3, 1, tzinfo=UTC)), PRESETS["telegram_like"])
    world.add_account(READER)
    streams = [f"stream-{number}" for number in range(STREAMS)]
    for stream in streams:
        world.add_stream(stream)
        world.post(stream)
    connector = SimulatedConnector(world)
    link = await connector.open(READER, {}, VolatileMemory())
    before = world.log.counts["heads"]
    await _check(link, connector.manifest, streams)
    await link.close()
    return _calls(world.log.counts["heads"] - before)


async def _measure_matrix() -> HeadCalls:
    from headgate.connectors.matrix import MatrixConnector
    from headgate.dev.bench.streams.head_servers import matrix_server

    rooms = [f"!{number}:example.org" for number in range(STREAMS)]
    async with matrix_server(rooms).running() as server:
        connector = MatrixConnector(MatrixSettings(), RealClock())
        secrets = {"homeserver": server.url, "user_id": "@reader:example.org", "access_token": "token"}
        link = await connector.open(READER, secrets, VolatileMemory())
        await _check(link, connector.manifest, rooms)
        await link.close()
        return _calls(server.calls)


async def _measure_discord() -> HeadCalls:
    from headgate.connectors.discord import DiscordConnector
    from headgate.dev.bench.streams.head_servers import ME, discord_server

    channels = [str(1_000 + number) for number in range(STREAMS)]
    async with discord_server(channels).running() as server:
        gateway = f"{server.url.replace('http', 'ws', 1)}/gateway"
        connector = DiscordConnector(DiscordSettings(api=server.url, gateway=gateway), RealClock())
        link = await connector.open(READER, {"token": "token", "user_id": ME}, VolatileMemory())
        await link.discover()
        discovered = server.calls
        await _check(link, connector.manifest, channels)
        alone = server.calls
        async with _listening(link):
            await _check(link, connector.manifest, channels)
        await link.close()
        return _calls(alone - discovered, listening=server.calls - alone)


@asynccontextmanager
async def _listening(link: Link) -> AsyncGenerator[None, None]:
    """Listen in the block; it begins when the first event has come, which the stand-in tells last."""
    heard = asyncio.Event()

    async def listen() -> None:
        async for _ in link.listen():
            heard.set()

    task = asyncio.create_task(listen())
    await asyncio.wait({task, asyncio.create_task(heard.wait())}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _check(link: Link, manifest: Manifest, streams: Sequence[str]) -> None:
    """Ask for the heads of all streams; one that is missing would make the figure worthless."""
    found: set[str] = set()
    for start in range(0, len(streams), manifest.heads_per_call):
        found |= (await link.heads(streams[start : start + manifest.heads_per_call])).keys()
    if missing := set(streams) - found:
        raise RuntimeError(f"{len(missing)} streams have no head")


def _calls(alone: int, *, listening: int | None = None) -> HeadCalls:
    return HeadCalls(round(STREAMS / alone, 1), alone, listening)


def _report(measured: Mapping[str, HeadCalls]) -> Report:
    lines: list[Figure] = []
    for name, calls in measured.items():
        lines.append(Figure(f"{name}: calls for {STREAMS:,} heads", f"{calls.calls_1000:,}"))
        lines.append(Figure(f"{name}: streams a call", f"{calls.streams_per_call:g}"))
        if (listening := calls.calls_1000_listening) is not None:
            ok = listening == 0
            lines.append(Figure(f"{name}: calls while listening", f"{listening:,}", bound="= 0", ok=ok))
    values = {name: asdict(calls) for name, calls in measured.items()}
    values_of_run = {**values, "streams": STREAMS, "python": platform.python_version()}
    return Report("heads", f"Calls to learn the newest messages of {STREAMS:,} streams", values_of_run, lines)
