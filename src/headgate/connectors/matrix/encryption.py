"""Which rooms are encrypted. Their messages are neither read nor sent, because Headgate has no keys."""

from __future__ import annotations

from http import HTTPStatus

from headgate.connectors.matrix import requests
from headgate.connectors.matrix.errors import Refused
from headgate.connectors.matrix.http import Homeserver
from headgate.connectors.matrix.rooms import facts_of, is_encrypted, joined
from headgate.connectors.matrix.shapes import Shape
from headgate.kernel.clock import Clock

TRUSTED_S = 300.0
"""How long a room counts as plain after a look; encryption cannot be switched off, but on."""


class Encryption:
    """What is known of the rooms of one account."""

    def __init__(self, server: Homeserver, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._encrypted: set[str] = set()
        self._plain_until_s: dict[str, float] = {}

    def learn(self, answer: Shape, *, is_whole: bool) -> None:
        """Take in what a sync tells of rooms; only one that begins anew tells that a room is plain."""
        until_s = self._clock.monotonic() + TRUSTED_S
        for room, told in joined(answer):
            if is_encrypted(facts_of(told)):
                self._encrypted.add(room)
            elif is_whole:
                self._plain_until_s[room] = until_s

    def is_known(self, room: str) -> bool:
        return room in self._encrypted

    async def is_on(self, room: str) -> bool:
        """Tell whether a room is encrypted; ask the server if that is not known."""
        if room in self._encrypted:
            return True
        now_s = self._clock.monotonic()
        if now_s < self._plain_until_s.get(room, now_s):
            return False
        try:
            await self._server.ask(requests.state(room, "m.room.encryption"))
        except Refused as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            self._plain_until_s[room] = now_s + TRUSTED_S
            return False
        self._encrypted.add(room)
        return True
