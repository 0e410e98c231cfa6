"""A platform on loopback that allows one place at a time, and a worker process that uses it.

As a program: one_place.py <database url> <data folder> <port>.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from headgate.app.parts import open_parts
from headgate.app.service import Service, stop_on_signals
from headgate.connectors.listing_link import ListingLink
from headgate.connectors.login_steps import LoginAttempt, LoginStep, SignedIn
from headgate.connectors.protocol import (
    Connector,
    FoundChannel,
    LaneDefault,
    Link,
    Manifest,
    Memory,
)
from headgate.domain.errors import Transient, WorkError
from headgate.domain.streams.messages import LiveEvent
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.lanes.links import AccountRef
from headgate.lanes.places import ask_platform
from headgate.storage.streams.watches import get_watcher

PLATFORM = "one_place"
MANIFEST = Manifest(
    platform=PLATFORM,
    title="One place",
    capabilities=frozenset({"streams", "live"}),
    licence="MIT",
    live="hint",
    exclusive=True,
    lanes={"read": LaneDefault(per_minute=60_000, burst=1000)},
)
CALLS = 300
"""How many calls a job makes, one after the other."""


@dataclass
class Place:
    """A connection to the platform."""

    pid: int
    calls: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class OnePlace:
    """The platform: notes every use of a session beside a newer one, and every second open one."""

    stopped: set[int] = field(default_factory=set[int])
    """Processes that are stopped and cannot close anything."""
    places: list[Place] = field(default_factory=list[Place])
    duplicates: list[str] = field(default_factory=list[str])
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = Place(int(await reader.readline()))
        self.duplicates += [
            f"{place.pid} opened it beside {other.pid}"
            for other in self.places
            if not other.closed.is_set() and other.pid not in self.stopped
        ]
        self.places.append(place)
        with suppress(ConnectionError):
            while line := await reader.readline():
                if line == b"bye\n":
                    place.closed.set()
                else:
                    await self._note_call(place)
                writer.write(b"ok\n")
        place.closed.set()
        writer.close()

    async def _note_call(self, place: Place) -> None:
        if place is not self.places[-1]:
            self.duplicates.append(f"{place.pid} called after {self.places[-1].pid} had opened it")
        async with self._changed:
            place.calls += 1
            self._changed.notify_all()

    async def await_place(self, number: int, *, calls: int = 1) -> Place:
        """Wait until so many calls came over the connection of a number."""
        async with asyncio.timeout(90), self._changed:
            await self._changed.wait_for(
                lambda: len(self.places) > number and self.places[number].calls >= calls
            )
        return self.places[number]


class OnePlaceLink(ListingLink):
    """A connection that does one thing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._lock = asyncio.Lock()

    async def discover(self) -> Sequence[FoundChannel]:
        # The lock is free, so nothing is awaited before the line is sent.
        async with self._lock:
            await self._say(b"discover\n")
        return [FoundChannel("a", "A", "stream")]

    async def listen(self) -> AsyncIterator[LiveEvent]:
        await asyncio.Event().wait()
        yield LiveEvent("disconnect")

    async def close(self) -> None:
        with suppress(ConnectionError, Transient):
            await self._say(b"bye\n")
        self._writer.close()

    async def _say(self, line: bytes) -> None:
        self._writer.write(line)
        if not await self._reader.readline():
            raise Transient("the connection ended")


class OnePlaceConnector(Connector):
    """Opens connections to a port."""

    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return SignedIn()

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None: ...

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"{os.getpid()}\n".encode())
        return OnePlaceLink(reader, writer)

    def host_of(self, listing: str) -> str:
        return PLATFORM

    def classify(self, error: BaseException) -> WorkError:
        return error if isinstance(error, WorkError) else Transient(str(error))


async def main(url: str, data_dir: str, port: int) -> None:
    stop = stop_on_signals()
    settings = load_settings({"HEADGATE_DATA_DIR": data_dir})
    connectors = {PLATFORM: OnePlaceConnector(port)}
    async with open_parts(settings, url, clock=RealClock(), connectors=connectors) as parts:

        async def hammer(job: Job[str]) -> None:
            async with job.database.transaction() as tx:
                watcher = await get_watcher(tx, UUID(job.key.partition("/")[0]))
            assert watcher is not None
            account = AccountRef(watcher.id, PLATFORM, watcher.name, established=True)
            for _ in range(CALLS):
                await ask_platform(parts.links, account)
            async with job.finish():
                pass

        parts.kinds.add(Kind("hammer", str, hammer))

        async def ready() -> None:
            sys.stdout.write("ready\n")
            sys.stdout.flush()

        await Service(parts, frozenset({"tick", "work", "listen"})).run(stop, ready)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], str(Path(sys.argv[2])), int(sys.argv[3])))
