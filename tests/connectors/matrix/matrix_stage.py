"""Two people on a homeserver: one posts, the other is Headgate's account."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from matrix_door import Door, door_to
from matrix_people import Person
from synapse_server import BRIDGE, BRIDGE_TOKEN, Synapse

from headgate.connectors.login_steps import LoginAttempt, SignedIn
from headgate.connectors.matrix import MatrixConnector
from headgate.connectors.protocol import Link
from headgate.kernel.clock import RealClock
from headgate.kernel.connector_settings import MatrixSettings
from headgate.testing.memory import VolatileMemory

ACCOUNT = "reader"
PASSWORD = "pw"
SYNC_S = 10.0
_NUMBERS = itertools.count(1)


@dataclass
class Stage:
    """A homeserver as Headgate and somebody else see it."""

    synapse: Synapse
    door: Door
    other: Person
    """Who makes rooms and posts."""
    account: Person
    """Headgate's own user, on another device than the connector's."""
    connector: MatrixConnector

    def answers(self, **changes: str) -> dict[str, str]:
        """Return what a person answers at the sign-in."""
        given = {"invitations": "no", "rooms": ""}
        return {**given, "user": self.account.name, "password": PASSWORD, **changes}

    async def sign_in(
        self, secrets: Mapping[str, str] | None = None, *, method: str = "password", **changes: str
    ) -> dict[str, str]:
        attempt = LoginAttempt(ACCOUNT, secrets or {}, self.answers(**changes), state=method)
        step = await self.connector.login(attempt)
        assert isinstance(step, SignedIn)
        return dict(step.secrets)

    async def open(self, memory: VolatileMemory | None = None, **changes: str) -> Link:
        secrets = await self.sign_in({}, **changes)
        return await self.connector.open(ACCOUNT, secrets, memory or VolatileMemory())

    def bridge(self) -> Person:
        """Return a user who can say when a message was sent, as a bridge to another network does."""
        return Person(self.synapse.url, BRIDGE_TOKEN, BRIDGE)

    async def make_room(self, name: str = "") -> str:
        return await self.other.make_room(self.account, name=name)


@asynccontextmanager
async def staged(synapse: Synapse) -> AsyncGenerator[Stage, None]:
    number = next(_NUMBERS)
    async with door_to(synapse.port) as door:
        other, account = (
            Person(synapse.url, synapse.register(f"{name}{number}"), f"{name}{number}")
            for name in ("poster", "reader")
        )
        settings = MatrixSettings(homeserver=door.url, sync_s=SYNC_S)
        yield Stage(synapse, door, other, account, MatrixConnector(settings, RealClock()))
        for person in (other, account):
            await person.client.aclose()
