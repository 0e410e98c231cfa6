"""Messages on their way: how long an answer is waited for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

from headgate.connectors.protocol import Link, Part, Sent
from headgate.domain.pacing import Permit
from headgate.kernel.clock import VirtualClock
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.flights import SEND_TIMEOUT_S, Flight, Landed, Runway
from headgate.outflow.hold import Hold
from headgate.storage.leases import Lease
from headgate.storage.sending import Share

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
NOBODY = cast("Any", None)
"""Where there is no database, because none is asked."""


class Platform:
    """Answers to all messages but those to the group `silence`."""

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        if target == "silence":
            await asyncio.Event().wait()
        return Sent(f"{part.text} {key}", NOW)


class Airport:
    """A runway whose time is moved by hand."""

    def __init__(self) -> None:
        self.clock = VirtualClock(NOW)
        lanes = Lanes(NOBODY, self.clock)
        account = AccountRef(uuid4(), "platform", "main", established=True)
        hold = Hold(NOBODY, self.clock, Lease("send", uuid4(), "send", 60.0, deadline_s=60.0))
        self.runway = Runway(account, Links({}, lanes, NOBODY), lanes, self.clock, hold)
        self.timekeeper = asyncio.create_task(self.runway.keep_time())

    def send(self, target: str) -> asyncio.Task[Landed]:
        share = Share(1, target, target, NOW, 1, "k", 0, "Hello", None, False, None, None, None, None)
        now_s = self.clock.monotonic()
        permit = Permit(owner="main", kind="send", epochs={}, due_at_s=now_s, void_at_s=now_s + 2.0)
        flight = Flight(share, Part("Hello"), permit, last=True)
        return asyncio.create_task(self.runway.send(cast("Link", Platform()), flight))

    async def wait(self, seconds: float) -> None:
        for moved_s in (0.0, seconds):
            self.clock.advance(moved_s)
            for _ in range(10):
                await asyncio.sleep(0)


async def test_a_call_without_an_answer_in_time_leaves_its_message_in_doubt() -> None:
    airport = Airport()
    first = airport.send("silence")
    await airport.wait(3.0)
    second = airport.send("silence")
    await airport.wait(SEND_TIMEOUT_S - 3.1)
    assert not first.done()
    await airport.wait(0.1)
    landed = first.result()
    assert (landed.result.state, landed.result.error) == ("sending", "no answer in time")
    assert first.cancelling() == 0
    assert not second.done()
    await airport.wait(3.0)
    assert second.result().result.state == "sending"
    airport.timekeeper.cancel()


async def test_an_answer_in_time_is_taken_whatever_others_wait_for() -> None:
    airport = Airport()
    silent, sent = airport.send("silence"), airport.send("lake")
    await airport.wait(0.0)
    assert sent.result().result.state == "sent"
    await airport.wait(SEND_TIMEOUT_S)
    assert silent.result().result.state == "sending"
    airport.timekeeper.cancel()


async def test_a_flight_that_is_cancelled_from_outside_is_no_late_answer() -> None:
    airport = Airport()
    flight = airport.send("silence")
    await airport.wait(1.0)
    flight.cancel()
    await asyncio.wait({flight})
    assert flight.cancelled()
    airport.timekeeper.cancel()
