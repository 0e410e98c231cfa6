"""A long history in three rooms of a homeserver, with the truth about it: what was posted, and its hashes."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar
from urllib.parse import quote

import httpx
from matrix_people import Person
from synapse_server import Synapse

T = TypeVar("T")

TITLES = ("ducks", "geese", "swans")
FILE_EVERY = 4
AT_ONCE = 12
"""Synapse stores messages that arrive together in fewer transactions."""
BINARY = "application/octet-stream"


def content_of(name: str) -> bytes:
    """Return bytes that only the name decides."""
    return hashlib.sha256(name.encode()).digest() * 100


def _is_up() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class History:
    """What somebody has posted; it grows, and every reader must end up with all of it."""

    poster: Person
    rooms: dict[str, str]
    counts: Counter[str] = field(default_factory=Counter[str])
    """Messages by room title."""
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    """SHA-256 by file name."""
    _numbers: count[int] = field(default_factory=count)
    _server_is_up: asyncio.Event = field(default_factory=_is_up)
    _kills: int = 0

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def files(self) -> list[str]:
        """Return each file with its hash, as `name hash`."""
        return sorted(f"{name} {digest}" for name, digest in self.hashes.items())

    async def let_in(self, reader: Person) -> None:
        for room in self.rooms.values():
            await reader.ask("POST", f"join/{quote(room)}", {})

    async def post(self, number: int) -> None:
        """Post so many messages, over all rooms in turn, one in four with a file."""
        free = asyncio.Semaphore(AT_ONCE)

        async def post_one(place: int) -> None:
            async with free:
                await self._post_one(TITLES[place % len(TITLES)])

        await asyncio.gather(*(post_one(place) for place in range(number)))

    async def _post_one(self, title: str) -> None:
        number = next(self._numbers)
        content: dict[str, object] = {"msgtype": "m.text", "body": f"{title} says {number}"}
        if number % FILE_EVERY == 0:
            name = f"{title}-{number}.bin"
            body = content_of(name)
            url = await self._insist(lambda: self.poster.upload(name, body, mime_type=BINARY))
            content = {"msgtype": "m.file", "body": name, "url": url, "info": {"size": len(body)}}
            self.hashes[name] = hashlib.sha256(body).hexdigest()
        transaction = f"history-{number}"
        await self._insist(lambda: self.poster.send(self.rooms[title], content, transaction=transaction))
        self.counts[title] += 1

    async def restart(self, synapse: Synapse) -> None:
        """Kill the server and start it again; whatever is being posted is posted afterwards."""
        self._kills += 1
        self._server_is_up.clear()
        synapse.kill()
        await asyncio.to_thread(synapse.start)
        self._server_is_up.set()

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call that a kill of the server cut off, once it is back; a transaction happens once."""
        while True:
            await self._server_is_up.wait()
            kills = self._kills
            try:
                return await call()
            except httpx.TransportError:
                if kills == self._kills:
                    raise


async def begin_history(synapse: Synapse, *, number: int) -> History:
    """Make the rooms and post so many messages."""
    poster = Person(synapse.url, synapse.register("historian"), "historian")
    rooms = {title: await poster.make_room(name=title, preset="public_chat") for title in TITLES}
    history = History(poster, rooms)
    await history.post(number)
    await poster.client.aclose()
    return history


@asynccontextmanager
async def continued(history: History) -> AsyncGenerator[History, None]:
    """Go on with a history in another event loop."""
    old = history.poster
    poster = Person(old.url, old.token, old.name)
    yield replace(history, poster=poster, _server_is_up=_is_up())
    await poster.client.aclose()
