"""A web part on a real database, and rows to look at."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
from argon2 import PasswordHasher
from fastapi import FastAPI

from headgate.access.passwords import Passwords
from headgate.app.parts import StoredSecrets
from headgate.connectors.apprise_out import AppriseOut
from headgate.connectors.protocol import Connector
from headgate.ingest.inspecting.reader import build_reader
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import WebSettings
from headgate.lanes import Lanes
from headgate.lanes.links import Links
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.storage.access import users
from headgate.storage.access.users import Role, User
from headgate.storage.blobs.opening import build_files
from headgate.storage.database import Database
from headgate.storage.listen import Listener
from headgate.storage.queries import QueryFile
from headgate.storage.shelf.touched import touch_items
from headgate.testing import World
from headgate.testing.platform.connector import SimulatedConnector
from headgate.testing.platform.profiles import plain
from headgate.web import EntryLink, WebParts, create_app
from headgate.web.events import EventHub

START = datetime(2026, 5, 4, 12, tzinfo=UTC)
PASSWORD = "correct horse battery"
ORIGIN = "http://127.0.0.1:8420"

Q = QueryFile(
    "seeds",
    """
-- name: channel
insert into channel (id, platform, key, kind, title, created_at)
values (%(id)s, 'sim', %(id)s::text, %(kind)s, %(title)s, %(at)s)

-- name: stream
insert into stream (channel_id, floor, head, due_at, message_count, total_messages_scanned)
values (%(id)s, %(floor)s, %(head)s, %(due_at)s, %(message_count)s, %(scanned)s)

-- name: coverage
insert into coverage (channel_id, lens, ranges) values (%(id)s, %(lens)s, %(ranges)s::int8multirange)

-- name: item
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at, hidden)
values (%(id)s, %(channel_id)s, %(id)s::text, %(kind)s, %(title)s, %(size_bytes)s, %(at)s, %(at)s, %(hidden)s)

-- name: letter
insert into dead_letter
    (id, kind, key, error_class, message, stack, attempts, crashes, first_tried_at, died_at)
values (%(id)s, 'scan', 'channel-1', 'Gone', 'the channel is private now', '', 3, 0, %(at)s, %(at)s)
""",
)


def cheap_passwords() -> Passwords:
    """Hashes at a fraction of the real cost, for tests that are not about it."""
    return Passwords(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))


@dataclass
class WebWorld:
    """The application, its clocks, and ways to talk to it."""

    app: FastAPI
    database: Database
    listener: Listener
    hub: EventHub
    passwords: Passwords
    clock: VirtualClock
    real_clock: VirtualClock
    platform: World
    """The simulated platform."""
    reasons: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def client(
        self, *, address: str = "203.0.113.7", base_url: str = ORIGIN, show_errors: bool = True
    ) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Open a client without credentials, by default from another machine."""
        transport = httpx.ASGITransport(self.app, client=(address, 40000), raise_app_exceptions=show_errors)
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
            yield client

    async def add_user(self, name: str = "ada", role: Role = "admin", password: str = PASSWORD) -> User:
        password_hash = await self.passwords.hash(password)
        async with self.database.transaction() as tx:
            user = await users.insert_user(
                tx,
                user_id=uuid4(),
                name=name,
                password_hash=password_hash,
                role=role,
                now=self.real_clock.now(),
            )
        assert user is not None
        return user

    @asynccontextmanager
    async def signed_in(
        self, name: str = "ada", role: Role = "admin"
    ) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Open a client of a new user who has signed in."""
        await self.add_user(name, role)
        async with self.client() as client:
            answer = await sign_in(client, name)
            assert answer.status_code == 303
            yield client

    async def add_channel(self, title: str = "Field recordings", *, kind: str = "stream") -> UUID:
        channel_id = uuid4()
        async with self.database.transaction() as tx:
            await tx.execute(Q["channel"], id=channel_id, kind=kind, title=title, at=START)
        return channel_id

    async def add_item(
        self, channel_id: UUID, title: str, *, minute: int = 0, kind: str = "file", hidden: bool = False
    ) -> UUID:
        item_id = uuid4()
        async with self.database.transaction() as tx:
            await tx.execute(
                Q["item"],
                id=item_id,
                channel_id=channel_id,
                kind=kind,
                title=title,
                size_bytes=1_500_000,
                at=START + timedelta(minutes=minute),
                hidden=hidden,
            )
            touch_items(tx, [item_id])
        return item_id


async def sign_in(client: httpx.AsyncClient, name: str = "ada", password: str = PASSWORD) -> httpx.Response:
    return await client.post("/login", data={"name": name, "password": password}, headers={"origin": ORIGIN})


async def form_token(client: httpx.AsyncClient) -> str:
    """Return the form token that the pages of the client's session carry."""
    page = await client.get("/account")
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text)
    assert found is not None
    return found[1]


async def post(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    """Send a form as a page would."""
    token = await form_token(client)
    return await client.post(path, data={"csrf_token": token, **fields}, headers={"origin": ORIGIN})


def make_world(
    database: Database,
    data_dir: Path,
    *,
    settings: WebSettings,
    entry_link: EntryLink | None = None,
    passwords: Passwords | None = None,
    clock: VirtualClock | None = None,
    connectors: Mapping[str, Connector] | None = None,
) -> WebWorld:
    clock, real_clock = clock or VirtualClock(START), VirtualClock(START)
    reasons: list[str] = []

    async def ready() -> list[str]:
        return reasons

    listener = Listener(database.url, RealClock())
    hub, passwords = EventHub(heartbeat_s=0.2, gap_s=0.01), passwords or cheap_passwords()
    platform, lanes = World(1, clock, plain), Lanes(database, clock)
    ids = Ids(real_clock, Randomness(1))
    connectors = connectors or {"simulated": SimulatedConnector(platform)}
    files = build_files(FilesSettings(), data_dir, database, clock=clock, ids=ids)
    parts = WebParts(
        database=database,
        clock=clock,
        ids=ids,
        settings=settings,
        data_dir=data_dir,
        listener=listener,
        ready=ready,
        links=Links(connectors, lanes, StoredSecrets(database, data_dir)),
        push_addresses=PushAddresses(AppriseOut(), lanes, clock, ids, data_dir),
        reader=build_reader(files, data_dir, clock=clock),
        entry_link=entry_link,
        real_clock=real_clock,
    )
    app = create_app(parts, hub=hub, passwords=passwords)
    return WebWorld(app, database, listener, hub, passwords, clock, real_clock, platform, reasons)
