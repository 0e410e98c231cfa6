"""The simulated platform is the first to pass the connector conformance suite, under every profile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from headgate.connectors.login_steps import Shown
from headgate.connectors.protocol import Connector, Link
from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Banned,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    SlowMode,
    Transient,
    WorkError,
)
from headgate.domain.listings.listings import Entry
from headgate.domain.streams.messages import Message
from headgate.testing import PRESETS, Profile, SimulatedConnector, VirtualClock, World, file_of
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory
from headgate.testing.platform import errors as sim
from headgate.testing.platform.login import CODE
from headgate.testing.platform.profiles import keyless

pytestmark = pytest.mark.once

ACCOUNT = "reader"


class SimulatedUnderTest(ConnectorUnderTest):
    def __init__(self, profile: Profile) -> None:
        self.clock = VirtualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
        self.world = World(7, self.clock, profile)
        self.world.add_account("other")
        self.world.add_account(ACCOUNT)
        self.connector = SimulatedConnector(self.world)

        self.account = ACCOUNT

    async def login_answers(self) -> Mapping[str, str]:
        return {"code": CODE}

    async def new_connector(self) -> Connector:
        return SimulatedConnector(self.world)

    async def answers_after(self, action: str) -> Mapping[str, str]:
        return {"code": str(int(CODE) + 1)} if action == "resend" else {}

    def shown_after(self) -> str:
        return "qr"

    async def use_shown(self, shown: Shown) -> None:
        self.world.scanned_codes.add(shown.value)

    async def let_expire(self, shown: Shown) -> None:
        assert shown.expires_at is not None
        self.clock.advance((shown.expires_at - self.clock.now()).total_seconds())

    async def open(self) -> None:
        self.link: Link = await self.connector.open(ACCOUNT, {}, VolatileMemory())

    async def reopen(self) -> Link:
        return await self.connector.open(ACCOUNT, {}, VolatileMemory())

    async def make_stream(self, count: int) -> str:
        key = f"stream-{len(self.world.streams)}"
        self.world.add_stream(key)
        self.world.fill(key, count)
        return key

    async def post(self, stream: str, *, text: str) -> Message:
        return self.world.seen_by(ACCOUNT, self.world.post(stream, text=text))

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        posted = self.world.post(stream, files=[file_of(name, content, mime_type=mime_type)])
        return self.world.seen_by(ACCOUNT, posted)

    async def edit(self, stream: str, key: str, *, text: str) -> None:
        self.world.edit(stream, self._world_key(key), text=text)

    async def delete(self, stream: str, key: str) -> None:
        self.world.delete(stream, self._world_key(key))

    async def settle(self) -> None:
        self.clock.advance(self.world.profile.settle_margin_s + 1)

    async def pause(self) -> None:
        self.clock.advance(1)
        for _ in range(10):
            await asyncio.sleep(0)

    async def drop_connections(self) -> None:
        self.world.disconnect(ACCOUNT)

    async def make_target(self) -> str:
        return self.world.add_group(f"group-{len(self.world.groups)}").key

    async def texts_at(self, target: str) -> Sequence[str]:
        return [message.text for message in self.world.groups[target].messages]

    async def make_listing(self, count: int) -> str:
        listing = self.world.add_listing(f"listing-{len(self.world.listings)}").key
        for _ in range(count):
            await self.add_entry(listing)
        return listing

    async def add_entry(self, listing: str) -> str:
        number = len(self.world.listings[listing].posted) + 1
        published_at = self.clock.now() + timedelta(seconds=number)
        entry = Entry(f"entry-{number}", f"Chapter {number}", "https://example.org", published_at)
        self.world.publish(listing, entry)
        return entry.key

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return [
            (sim.SimFlood(7), RateLimited),
            (sim.SimTimeout("read"), Transient),
            (sim.SimTimeout("send"), Ambiguous),
            (sim.SimDisconnected("heads"), Transient),
            (sim.SimDisconnected("forward"), Ambiguous),
            (sim.SimAuthError(), AuthFailed),
            (sim.SimBanned(), Banned),
            (sim.SimSlowMode(3.0), SlowMode),
            (sim.SimRestricted(), Restricted),
            (sim.SimNotFound(), Gone),
            (sim.SimMediaLapsed(), Gone),
            (sim.SimLinkExpired(), Transient),
            (sim.SimBadRequest(), Malformed),
            (sim.SimClosed(), Transient),
        ]

    def _world_key(self, key: str) -> str:
        return str(int(key) - self.world.accounts[ACCOUNT].shift)


@pytest.fixture(params=[*PRESETS, keyless.name])
async def under_test(request: pytest.FixtureRequest) -> AsyncIterator[ConnectorUnderTest]:
    harness = SimulatedUnderTest(PRESETS.get(request.param, keyless))
    await harness.open()
    yield harness
    await harness.link.close()


class TestSimulatedPlatform(ConnectorConformance):
    """Every check, under every profile."""


async def test_the_library_errors_of_the_suite_are_all_there_are() -> None:
    harness = SimulatedUnderTest(PRESETS["plain"])
    exemplified = {type(error) for error, _ in harness.library_errors()}
    raised = {
        kind
        for kind in vars(sim).values()
        if isinstance(kind, type) and issubclass(kind, sim.SimError) and not kind.__subclasses__()
    }
    assert raised - exemplified == {sim.SimDuplicate}
