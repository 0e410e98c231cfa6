"""The Matrix connector passes the conformance suite against a real Synapse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import aiohttp
import pytest
from matrix_stage import ACCOUNT, Stage

from headgate.connectors.matrix import MatrixConnector, errors
from headgate.connectors.matrix.errors import Refused
from headgate.connectors.protocol import Connector, Link
from headgate.domain.errors import (
    Ambiguous,
    AuthFailed,
    Banned,
    Gone,
    Malformed,
    RateLimited,
    Restricted,
    Transient,
    WorkError,
)
from headgate.domain.streams.messages import Message
from headgate.kernel.clock import RealClock
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory

pytestmark = [pytest.mark.once, pytest.mark.long, pytest.mark.xdist_group("synapse")]


class MatrixUnderTest(ConnectorUnderTest):
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.connector = stage.connector
        self.account = ACCOUNT
        self.clock = RealClock()

    async def open(self) -> None:
        self.secrets = await self.stage.sign_in()
        self.link: Link = await self.connector.open(ACCOUNT, self.secrets, VolatileMemory())

    async def reopen(self) -> Link:
        return await self.connector.open(ACCOUNT, self.secrets, VolatileMemory())

    async def login_answers(self) -> Mapping[str, str]:
        return self.stage.answers()

    async def new_connector(self) -> Connector:
        return MatrixConnector(self.stage.connector.settings, RealClock())

    async def make_stream(self, count: int) -> str:
        room = await self.stage.make_room()
        for number in range(count):
            await self._post_some_kind(room, number)
        return room

    async def _post_some_kind(self, room: str, number: int) -> None:
        other = self.stage.other
        if number % 5 == 1:
            await other.post_file(
                room, f"{number}.zip", f"file {number}".encode(), mime_type="application/zip"
            )
        elif number % 5 == 2:
            await other.send(room, {"msgtype": "m.notice", "body": f"notice {number}"})
        elif number % 5 == 3:
            await other.send(room, {"msgtype": "m.emote", "body": f"waves {number} times"})
        else:
            await other.post(room, f"number {number}")

    async def post(self, stream: str, *, text: str) -> Message:
        return await self._seen(stream, await self.stage.other.post(stream, text))

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        key = await self.stage.other.post_file(stream, name, content, mime_type=mime_type)
        return await self._seen(stream, key)

    async def edit(self, stream: str, key: str, *, text: str) -> None:
        await self.stage.other.edit(stream, key, text)

    async def delete(self, stream: str, key: str) -> None:
        await self.stage.other.redact(stream, key)

    async def settle(self) -> None:
        """Nothing settles: messages are placed when they appear."""

    async def pause(self) -> None:
        await self.clock.sleep(0.05)

    async def drop_connections(self) -> None:
        # HTTP clients ask again on a new connection, so that one must fail, too.
        await self.stage.door.close()
        await self.clock.sleep(0.5)
        await self.stage.door.open()

    async def make_target(self) -> str:
        return await self.stage.make_room()

    async def texts_at(self, target: str) -> Sequence[str]:
        return [event["content"]["body"] for event in await self.stage.other.history(target)]

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return [
            (Refused(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_s=7), RateLimited),
            (Refused(429), RateLimited),
            (Refused(401, "M_UNKNOWN_TOKEN", "Invalid access token"), AuthFailed),
            (Refused(401, "M_UNKNOWN_TOKEN", "Access token expired", soft_logout=True), AuthFailed),
            (Refused(401, "M_MISSING_TOKEN"), AuthFailed),
            (Refused(403, "M_USER_DEACTIVATED", "This account has been deactivated"), Banned),
            (Refused(401, "M_USER_LOCKED", soft_logout=True), Restricted),
            (Refused(403, "M_USER_SUSPENDED"), Restricted),
            (Refused(403, "M_FORBIDDEN", "You are not in the room"), Gone),
            (Refused(404, "M_NOT_FOUND"), Gone),
            (Refused(400, "M_BAD_JSON"), Malformed),
            (Refused(413, "M_TOO_LARGE"), Malformed),
            (Refused(502), Transient),
            (Refused(504, "M_NOT_YET_UPLOADED"), Transient),
            (errors.Unanswered("no answer"), Ambiguous),
            (errors.NotSignedIn("no session"), AuthFailed),
            (errors.NotUnderstood("no JSON"), Malformed),
            (errors.NotPossible("encrypted"), Malformed),
            (aiohttp.ClientPayloadError("cut short"), Transient),
            (aiohttp.ServerDisconnectedError(), Transient),
            (aiohttp.SocketTimeoutError(), Transient),
            (TimeoutError(), Transient),
        ]

    async def _seen(self, stream: str, key: str) -> Message:
        message = await self.link.message(stream, key)
        assert message is not None
        return message


@pytest.fixture
async def under_test(stage: Stage) -> AsyncIterator[ConnectorUnderTest]:
    harness = MatrixUnderTest(stage)
    await harness.open()
    yield harness
    await harness.link.close()


class TestMatrix(ConnectorConformance):
    """Every check."""


def test_the_library_errors_of_the_suite_are_all_there_are(stage: Stage) -> None:
    exemplified = {type(error) for error, _ in MatrixUnderTest(stage).library_errors()}
    raised = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.MatrixError) and not kind.__subclasses__()
    }
    assert raised <= exemplified
