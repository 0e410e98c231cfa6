"""The MangaDex connector passes the conformance suite, as a guest and signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime

import httpx
import pytest
from mangadex_server import MangaDexServer
from mangadex_stage import answers_of, connect, sign_in

from headgate.connectors.mangadex import errors as mangadex
from headgate.connectors.protocol import Connector, Link
from headgate.domain.errors import (
    AuthFailed,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    Transient,
    WorkError,
)
from headgate.kernel.clock import VirtualClock
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once


class MangaDexUnderTest(ConnectorUnderTest):
    def __init__(self) -> None:
        self.clock = VirtualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
        self.server = MangaDexServer(self.clock).start()
        self.person = self.server.add_person(follows=[self.server.add_manga("Followed")])
        self.connector = connect(self.server)
        self.account = self.person.name
        self.secrets: Mapping[str, str] = {}

    async def open(self, *, signed_in: bool) -> None:
        if signed_in:
            self.secrets = await sign_in(connect(self.server), self.person)
        self.link: Link = await self.reopen()

    async def reopen(self) -> Link:
        return await self.connector.open(self.account, self.secrets, VolatileMemory())

    async def login_answers(self) -> Mapping[str, str]:
        return answers_of(self.person)

    async def new_connector(self) -> Connector:
        return connect(self.server)

    async def settle(self) -> None:
        self.clock.advance(61)

    async def pause(self) -> None:
        self.clock.advance(1)

    async def make_listing(self, count: int) -> str:
        listing = self.server.add_manga()
        for _ in range(count):
            await self.add_entry(listing)
        return listing

    async def add_entry(self, listing: str) -> str:
        self.clock.advance(1)
        return self.server.add_chapter(listing, str(len(self.server.chapters)))

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        request = httpx.Request("GET", self.server.api)
        return [
            (mangadex.TooMany(7), RateLimited),
            (mangadex.GuestRefused(), RateLimited),
            (mangadex.Blocked("a captcha"), RateLimited),
            (mangadex.SignInRefused("no"), AuthFailed),
            (mangadex.NotUnderstood("<html>"), Transient),
            (mangadex.ApiRefused(400), Malformed),
            (mangadex.ApiRefused(403), Restricted),
            (mangadex.ApiRefused(404), Gone),
            (mangadex.ApiRefused(408), Transient),
            (mangadex.ApiRefused(502), Transient),
            (httpx.ReadTimeout("", request=request), Transient),
            (httpx.ConnectError("", request=request), Transient),
            (httpx.RemoteProtocolError("", request=request), Transient),
            (TimeoutError(), Transient),
        ]


@pytest.fixture(params=["guest", "signed in"])
async def under_test(request: pytest.FixtureRequest) -> AsyncIterator[ConnectorUnderTest]:
    harness = MangaDexUnderTest()
    await harness.open(signed_in=request.param == "signed in")
    yield harness
    await harness.link.close()
    harness.server.stop()


class TestMangaDex(ConnectorConformance):
    """Every check that the manifest claims."""


def test_the_errors_of_the_suite_are_all_that_the_connector_raises() -> None:
    harness = MangaDexUnderTest()
    exemplified = {type(error) for error, _ in harness.library_errors()}
    harness.server.stop()
    raised = {
        kind
        for kind in vars(mangadex).values()
        if isinstance(kind, type) and issubclass(kind, mangadex.MangaDexError) and not kind.__subclasses__()
    }
    assert raised <= exemplified
