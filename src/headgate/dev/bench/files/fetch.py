"""From a socket to stored files, beside a single pass that reads, hashes, writes and syncs the same bytes."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import uuid4

from headgate.app.parts import Parts, build_parts
from headgate.cli.output import progress_bar
from headgate.connectors.protocol import Link, Memory
from headgate.dev.bench.files.byte_server import ByteServer
from headgate.dev.bench.followed import HEARTBEAT_S, PLATFORM, READER, SEED, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report, rate_line
from headgate.intake.channels.discovery import follow_all
from headgate.intake.streams.accept import accept_messages
from headgate.jobs.stepper import Stepper
from headgate.kernel.clock import RealClock
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import load_settings
from headgate.storage.blobs.opening import opened
from headgate.storage.database import Database, connect
from headgate.storage.queries import QueryFile
from headgate.testing import SimulatedConnector, World
from headgate.testing.content.content import SimFile
from headgate.testing.platform.link import SimulatedLink

MIN_RATIO = 0.7
MIN_SMALL_RATIO = 0.5
MAX_RSS_GROWTH = 64 * 2**20
MIB = 2**20
STREAM = "packs"

Q = QueryFile(
    "bench fetch",
    """
-- name: count_stored
select count(*) from item_file where state = 'stored'

-- name: channel
select id from channel where key = %(key)s
""",
)


@dataclass(frozen=True)
class FetchSizes:
    """How much is measured."""

    file_mib: int = 50
    files: int = 4
    large_mib: int = 2_000
    small_files: int = 1_000
    small_bytes: int = 20_000
    rounds: int = 3


class SocketLink(SimulatedLink):
    """The simulated platform, with downloads from a real socket."""

    server: ByteServer
    sizes: Mapping[str, int]

    async def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        size = self.sizes[message_key]
        async for chunk in self.server.read(int(message_key), size=size, start=offset):
            yield chunk


class SocketConnector(SimulatedConnector):
    """Opens such links."""

    def __init__(self, world: World, server: ByteServer, sizes: Mapping[str, int]) -> None:
        super().__init__(world)
        self._of_world, self._server, self._sizes = world, server, sizes

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        link = SocketLink(self._of_world, account)
        link.server, link.sizes = self._server, self._sizes
        return link


@dataclass
class FetchBench:
    """The product with files to fetch, and where its floor writes."""

    parts: Parts
    stepper: Stepper
    world: World
    server: ByteServer
    sizes: dict[str, int]
    folder: Path
    stored: int = 0

    async def fetch(self, *, count: int, size: int) -> float:
        """Return how long it takes to fetch so many files, from their wish until they are stored."""
        messages = [
            self.world.post(STREAM, files=[SimFile(f"{n}.bin", "application/zip", size, "", b"")])
            for n in range(count)
        ]
        self.sizes |= {message.key: size for message in messages}
        async with self.parts.database.transaction() as tx:
            channel_id = await tx.value(Q["channel"], key=STREAM)
            rules = await self.parts.rules.get(tx, channel_id)
            now = self.parts.clock.now()
            await accept_messages(tx, channel_id, messages, rules=rules, ids=self.parts.ids, now=now)
        self.stored += count
        began_s = perf_counter()
        while await self._count_stored() < self.stored:
            await self.parts.tick().tick(self.parts.clock.now())
            while (job := await self.stepper.claim()) is not None:
                _, settlement = await self.stepper.execute(job)
                await self.stepper.settle(job, settlement)
        return perf_counter() - began_s

    async def pass_through(self, *, count: int, size: int) -> float:
        """Return how long a single pass takes: read, hash, write, sync, one file after the other."""
        began_s = perf_counter()
        for number in range(count):
            path = self.folder / f"floor-{number}"
            digest = hashlib.sha256()
            with path.open("wb", buffering=0) as file:
                async for chunk in self.server.read(number, size=size):
                    digest.update(chunk)
                    file.write(chunk)
                os.fsync(file.fileno())
        elapsed_s = perf_counter() - began_s
        for number in range(count):
            (self.folder / f"floor-{number}").unlink()
        return elapsed_s

    async def _count_stored(self) -> int:
        async with self.parts.database.transaction() as tx:
            return await tx.value(Q["count_stored"])


@asynccontextmanager
async def _open_bench(url: str, folder: Path) -> AsyncGenerator[FetchBench, None]:
    clock, server, sizes = RealClock(), ByteServer(), dict[str, int]()
    world = World(SEED, clock, unpaced_profile().but(names_content=False, late_chance=0.0))
    world.add_account(READER)
    world.add_stream(STREAM)
    settings = load_settings()
    files = settings.files.model_copy(
        update={"url": "", "keep_free_percent": 0, "keep_free_gib": 0, "downloads_at_once": 1}
    )
    settings = replace(settings, data=settings.data.model_copy(update={"dir": folder}), files=files)
    database = Database(url, clock, name="headgate bench")
    await database.open()
    try:
        connector = SocketConnector(world, server, sizes)
        parts = build_parts(
            settings,
            url,
            database,
            clock=clock,
            randomness=Randomness(SEED),
            connectors={PLATFORM: connector},
        )
        await follow_all(database, parts.links, parts.ids, clock, name=READER)
        async with (
            server.opened(),
            opened(parts.files),
            await connect(url, name="headgate bench") as connection,
        ):
            stepper = Stepper(parts.execution, connection, uuid4(), HEARTBEAT_S, ["fetch"])
            yield FetchBench(parts, stepper, world, server, sizes, folder)
        await parts.links.close()
    finally:
        await database.close()


async def measure_fetch(sizes: FetchSizes) -> Report:
    """Measure downloads of large and small files, and how much memory they need."""
    ours: list[float] = []
    floor: list[float] = []
    small: list[float] = []
    small_floor: list[float] = []
    size = sizes.file_mib * MIB
    with (
        progress_bar("Measuring downloads", total=sizes.rounds * 4 + 1) as advance,
        tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder,
    ):
        async with open_ground() as url, _open_bench(url, Path(folder)) as bench:
            for _ in range(sizes.rounds):
                ours.append(sizes.files * size / await bench.fetch(count=sizes.files, size=size))
                advance(1)
                floor.append(sizes.files * size / await bench.pass_through(count=sizes.files, size=size))
                advance(1)
                count, each = sizes.small_files, sizes.small_bytes
                small.append(count / await bench.fetch(count=count, size=each))
                advance(1)
                small_floor.append(count / await bench.pass_through(count=count, size=each))
                advance(1)
            rss_bytes = _peak_rss_bytes()
            if sizes.large_mib:
                await bench.fetch(count=1, size=sizes.large_mib * MIB)
            large_rss_bytes = _peak_rss_bytes()
            advance(1)
    return _report(
        sizes,
        rates=(median(ours), median(floor), median(small), median(small_floor)),
        rss=(rss_bytes, large_rss_bytes),
    )


def _peak_rss_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _report(sizes: FetchSizes, *, rates: tuple[float, float, float, float], rss: tuple[int, int]) -> Report:
    ours, floor, small, small_floor = rates
    peak, large_peak = rss
    growth = large_peak - peak
    values = {
        "bytes_per_s": round(ours),
        "floor_bytes_per_s": round(floor),
        "ratio": round(ours / floor, 3),
        "small_files_per_s": round(small, 1),
        "floor_small_files_per_s": round(small_floor, 1),
        "small_ratio": round(small / small_floor, 3),
        "peak_rss_bytes": peak,
        "peak_rss_large_bytes": large_peak,
        "file_mib": sizes.file_mib,
        "files": sizes.files,
        "large_mib": sizes.large_mib,
        "small_files": sizes.small_files,
        "small_bytes": sizes.small_bytes,
        "rounds": sizes.rounds,
        "rate_of": "median of rounds",
        "python": platform.python_version(),
    }
    lines = [
        rate_line("bytes", per_s=ours, floor_per_s=floor, least_ratio=MIN_RATIO),
        rate_line("small files", per_s=small, floor_per_s=small_floor, least_ratio=MIN_SMALL_RATIO),
        Figure(
            what=f"memory for {sizes.large_mib} MiB beyond that for {sizes.file_mib} MiB",
            figure=f"{growth / MIB:,.0f} MiB",
            bound=f"≤ {MAX_RSS_GROWTH // MIB} MiB",
            ok=growth <= MAX_RSS_GROWTH,
        ),
    ]
    note = "The floor reads from the same socket server, hashes, writes and syncs, one file after the other."
    return Report("fetch", f"Downloads, Python {platform.python_version()}", values, lines, [note])
