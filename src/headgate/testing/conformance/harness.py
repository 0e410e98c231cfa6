"""How the suite works a platform: the little that a test server must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar
from unittest import SkipTest

from headgate.connectors.login_steps import Shown
from headgate.connectors.protocol import Capability, Connector, Link
from headgate.domain.errors import RateLimited, SlowMode, WorkError
from headgate.domain.streams.messages import Message
from headgate.testing.conformance.placing import Places

T = TypeVar("T")

_MAX_PAUSES = 400


class ConnectorUnderTest(ABC):
    """A connector, an open account on it, and hands on the platform's other side.

    Only what the manifest claims is asked for. A method that the test server cannot do stays as it is: then
    the checks that need it are skipped, with the reason.
    """

    connector: Connector
    link: Link
    account: str

    @property
    def allots(self) -> bool:
        """Whether the platform leaves it to us where messages stand."""
        return self.connector.manifest.positions == "allotted"

    def places(self, stream: str) -> Places:
        """Return where the messages of a stream stand that were read so far."""
        if not hasattr(self, "_places"):
            self._places: dict[str, Places] = {}
        return self._places.setdefault(stream, Places())

    def same(self, one: Message, other: Message) -> bool:
        """Tell whether two messages are equal, wherever we have placed them."""
        return one == (replace(other, position=one.position) if self.allots else other)

    @abstractmethod
    async def pause(self) -> None:
        """Let a moment pass, in which what is under way can arrive."""

    @abstractmethod
    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        """Return an example of each exception that the library raises, and what it means."""

    async def make_stream(self, count: int) -> str:
        """Return a new stream with so many messages, of all kinds that the platform has."""
        raise SkipTest("the test server has no streams")

    async def post(self, stream: str, *, text: str) -> Message:
        """Post a text as somebody else, and return it as the account sees it."""
        raise SkipTest("the test server has no streams")

    async def settle(self) -> None:
        """Let so much time pass that everything is visible and older than the settle margin."""
        raise SkipTest("the test server has no streams")

    async def reopen(self) -> Link:
        """Open the same account again."""
        raise SkipTest("the test server has no second connection")

    async def login_answers(self) -> Mapping[str, str]:
        """Return what a person would answer to each question of a login."""
        raise SkipTest("the test server has no logins")

    async def new_connector(self) -> Connector:
        """Return another connector to the same platform, as another process has one."""
        raise SkipTest("the test server has no second connector")

    async def answers_after(self, action: str) -> Mapping[str, str]:
        """Return what is answered differently once the person took an action, such as a new code."""
        return {}

    def shown_after(self) -> str:
        """Return the action that leads to what a login shows; empty if it comes by itself."""
        raise SkipTest("the login shows nothing")

    async def use_shown(self, shown: Shown) -> None:
        """Do what a login shows: scan the QR code, open the link, type the code."""
        raise SkipTest("the login shows nothing")

    async def let_expire(self, shown: Shown) -> None:
        raise SkipTest("the login shows nothing that expires")

    async def edit(self, stream: str, key: str, *, text: str) -> None:
        raise SkipTest("the test server cannot edit")

    async def delete(self, stream: str, key: str) -> None:
        raise SkipTest("the test server cannot delete")

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        raise SkipTest("the test server cannot take files")

    async def drop_connections(self) -> None:
        raise SkipTest("the test server cannot drop connections")

    async def make_target(self) -> str:
        """Return a new group to send to."""
        raise SkipTest("the test server has no targets")

    async def texts_at(self, target: str) -> Sequence[str]:
        """Return what has arrived in a target, in order, seen from the other side."""
        raise SkipTest("the test server cannot look into targets")

    async def make_listing(self, count: int) -> str:
        """Return a new listing with so many entries."""
        raise SkipTest("the test server has no listings")

    async def add_entry(self, listing: str) -> str:
        """Publish one more entry, and return its key."""
        raise SkipTest("the test server cannot publish")

    def needs(self, *capabilities: Capability) -> None:
        """Skip a check that the connector does not claim to pass."""
        missing = set(capabilities) - self.connector.manifest.capabilities
        if missing:
            raise SkipTest(f"the connector does not claim: {', '.join(sorted(missing))}")

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call, waiting where the platform asks for it."""
        for _ in range(_MAX_PAUSES):
            try:
                return await call()
            except Exception as error:
                if not isinstance(self.connector.classify(error), RateLimited | SlowMode):
                    raise
                await self.pause()
        raise AssertionError("the platform asked to wait for ever")

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that happens outside."""
        for _ in range(_MAX_PAUSES):
            if condition():
                return
            await self.pause()
        raise AssertionError(f"never happened: {what}")


def expect(condition: object, broken_rule: str) -> None:
    """Fail with the rule that was broken."""
    if not condition:
        raise AssertionError(broken_rule)
