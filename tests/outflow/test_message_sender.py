"""Messages on their way: what is checked right before the call, and what an answer or its absence means."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import pytest

from headgate.connectors.protocol import Link, Part, Sent
from headgate.domain.errors import AuthFailed, Gone, Transient
from headgate.domain.pacing import Permit
from headgate.kernel.clock import VirtualClock
from headgate.lanes import Lanes
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.sending.message_sender import SEND_TIMEOUT_S, MessageSender, PendingSend, SendOutcome
from headgate.storage.jobs.leases import Lease, LeaseKeeper
from headgate.storage.sending.sending import Share

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
NOBODY = cast("Any", None)
"""Where there is no database, because none is asked."""


NO = {
    "fault": Transient("the network is away"),
    "logout": AuthFailed("signed out"),
    "refusal": Gone("there is no such group"),
}


class Platform:
    """Answers to all but the group `silence`; says no to `fault`, `logout` and `refusal`."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        self.calls.append(target)
        if target == "silence":
            await asyncio.Event().wait()
        if target in NO:
            raise NO[target]
        return Sent(f"{part.text} {key}", NOW)


def held_until(deadline_s: float) -> Lease:
    return Lease("send", uuid4(), "send", 60.0, deadline_s)


class SenderBench:
    """A runway whose time is moved by hand."""

    def __init__(self) -> None:
        self.clock = VirtualClock(NOW)
        lanes = Lanes(NOBODY, self.clock)
        account = AccountRef(uuid4(), "platform", "main", established=True)
        keeper = LeaseKeeper(NOBODY, self.clock, held_until(60.0))
        self.sender = MessageSender(account, Links({}, lanes, NOBODY), lanes, self.clock, keeper)
        self.platform = Platform()
        self.timekeeper = asyncio.create_task(self.sender.keep_time())

    def pending(
        self, target: str, *, doubtful: bool = False, in_s: float = 0.0, repeat_until_s: float | None = None
    ) -> PendingSend:
        """Return a message that leaves so many seconds from now."""
        share = Share(
            1, target, target, NOW, 1, "k", 0, "Hello", None, "", "", doubtful, None, None, None, None, None
        )
        due_at_s = self.clock.monotonic() + in_s
        permit = Permit(owner="main", kind="send", epochs={}, due_at_s=due_at_s, void_at_s=due_at_s + 2.0)
        return PendingSend(share, Part("Hello"), permit, last=True, repeat_until_s=repeat_until_s)

    def start(self, pending: PendingSend) -> asyncio.Task[SendOutcome]:
        return asyncio.create_task(self.sender.send(cast("Link", self.platform), pending))

    def send(self, target: str) -> asyncio.Task[SendOutcome]:
        return self.start(self.pending(target))

    async def wait(self, seconds: float) -> None:
        for moved_s in (0.0, seconds):
            self.clock.advance(moved_s)
            for _ in range(10):
                await asyncio.sleep(0)


async def test_a_call_without_an_answer_in_time_leaves_its_message_in_doubt() -> None:
    bench = SenderBench()
    first = bench.send("silence")
    await bench.wait(3.0)
    second = bench.send("silence")
    await bench.wait(SEND_TIMEOUT_S - 3.1)
    assert not first.done()
    await bench.wait(0.1)
    landed = first.result()
    assert (landed.result.state, landed.result.error) == ("sending", "no answer in time")
    assert first.cancelling() == 0
    assert not second.done()
    await bench.wait(3.0)
    assert second.result().result.state == "sending"
    bench.timekeeper.cancel()


async def test_an_answer_in_time_is_taken_whatever_others_wait_for() -> None:
    bench = SenderBench()
    silent, sent = bench.send("silence"), bench.send("lake")
    await bench.wait(0.0)
    assert sent.result().result.state == "sent"
    await bench.wait(SEND_TIMEOUT_S)
    assert silent.result().result.state == "sending"
    bench.timekeeper.cancel()


async def test_a_flight_that_is_cancelled_from_outside_is_no_late_answer() -> None:
    bench = SenderBench()
    pending = bench.send("silence")
    await bench.wait(1.0)
    pending.cancel()
    await asyncio.wait({pending})
    assert pending.cancelled()
    bench.timekeeper.cancel()


async def test_a_flight_that_is_called_back_before_its_call_has_sent_nothing() -> None:
    bench = SenderBench()
    unborn, waiting = bench.pending("lake", in_s=1.0), bench.pending("hill", in_s=1.0)
    late = bench.start(waiting)
    await bench.wait(0.5)
    early = bench.start(unborn)
    for task in (early, late):
        task.cancel()
    await asyncio.wait({early, late})
    assert [unborn.outcome(early).result.state, waiting.outcome(late).result.state] == ["planned", "planned"]
    assert bench.platform.calls == []
    bench.timekeeper.cancel()


async def test_a_flight_that_is_cancelled_after_its_call_is_in_doubt() -> None:
    bench = SenderBench()
    pending = bench.pending("silence")
    task = bench.start(pending)
    await bench.wait(1.0)
    task.cancel()
    await asyncio.wait({task})
    assert pending.outcome(task).result.state == "sending"
    bench.timekeeper.cancel()


async def test_no_call_begins_when_the_lease_may_be_anothers() -> None:
    bench = SenderBench()
    task = bench.start(bench.pending("lake", in_s=59.5))
    bench.sender.keeper = LeaseKeeper(NOBODY, bench.clock, held_until(bench.clock.monotonic() + 59.0))
    await bench.wait(59.5)
    assert task.result().result.state == "planned"
    assert bench.platform.calls == []
    bench.timekeeper.cancel()


async def test_no_repeat_begins_after_the_dedupe_window() -> None:
    bench = SenderBench()
    ends_s = bench.clock.monotonic() + 3.0
    inside = bench.start(bench.pending("lake", doubtful=True, in_s=2.9, repeat_until_s=ends_s))
    outside = bench.start(bench.pending("hill", doubtful=True, in_s=3.0, repeat_until_s=ends_s))
    await bench.wait(2.9)
    await bench.wait(0.1)
    assert (inside.result().result.state, outside.result().result.state) == ("sent", "sending")
    assert bench.platform.calls == ["lake"]
    bench.timekeeper.cancel()


@pytest.mark.parametrize(
    ("answer", "first", "repeat"),
    [
        ("fault", "planned", "sending"),
        ("logout", "planned", "sending"),
        ("refusal", "failed", "uncertain"),
    ],
)
async def test_a_no_to_a_repeat_does_not_end_the_doubt_about_the_first_try(
    answer: str, first: str, repeat: str
) -> None:
    bench = SenderBench()
    tasks = [bench.start(bench.pending(answer, doubtful=doubtful)) for doubtful in (False, True)]
    await bench.wait(0.0)
    assert [task.result().result.state for task in tasks] == [first, repeat]
    bench.timekeeper.cancel()
