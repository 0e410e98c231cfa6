"""What listening costs where live events are hints: calls for verifying them, against those of polling.

A stream gets a message a minute. Both runs are the product on a database of its own, at default settings.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headgate.cli.output import progress_bar
from headgate.dev.bench.followed import READER, SEED, BenchProduct, open_product, unpaced_profile
from headgate.dev.bench.ground import open_ground
from headgate.dev.bench.measuring import Figure, Report, percentile
from headgate.intake.streams.live import LiveIntake
from headgate.kernel.clock import VirtualClock
from headgate.lanes.links import AccountRef
from headgate.storage.queries import QueryFile
from headgate.storage.streams.listeners import note_listening
from headgate.testing import World, file_of
from headgate.testing.listener import LinkListener
from headgate.testing.platform.link import SimulatedLink

START = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = "packs"
BEFORE = 20
"""Messages that are there when the product starts to follow the stream."""
STEPS_S = (1.0, 29.0, 30.0)
"""How the clock goes through the minute after a message."""
LAST_POLLS = 4
"""Times ten minutes, after which the slowest ordinary poll has found what was posted last."""
COUNTED = ("heads", "read", "message")

Q = QueryFile(
    "bench listen",
    """
-- name: list_caught
select message_key from sighting where verdict = 'kept' and item_id is not null
""",
)


@dataclass
class Listened:
    """What one run cost, and how late its messages were stored."""

    calls: int = 0
    missed: int = 0
    late_s: list[float] = field(default_factory=list[float])


@dataclass
class Run:
    """The product and a world with one stream, in time that is moved by hand."""

    world: World
    clock: VirtualClock
    product: BenchProduct
    account: AccountRef
    live: LiveIntake | None
    listener: LinkListener
    outcome: Listened = field(default_factory=Listened)
    _posted: dict[str, datetime] = field(default_factory=dict[str, datetime])

    async def pass_minute(self, number: int) -> None:
        """Post a message, and let a minute pass."""
        message = self.world.post(STREAM, files=[file_of(f"live-{number}.zip", str(number).encode())])
        self._posted[message.key] = self.clock.now()
        for step_s in STEPS_S:
            self.clock.advance(step_s)
            await self._hear()
            await self.product.work()
            await self._note_stored()

    async def finish(self) -> Listened:
        counts = self.world.log.counts_by_account
        self.outcome.calls = sum(counts[READER, kind] for kind in COUNTED)
        # What was posted last waits for the next poll.
        for _ in range(LAST_POLLS):
            self.clock.advance(600)
            await self._hear()
            await self.product.work()
            await self._note_stored()
        self.outcome.missed = len(self._posted)
        await self.listener.stop()
        return self.outcome

    async def _hear(self) -> None:
        if self.live is None:
            return
        await self.listener.catch_up()
        for event in self.listener.events:
            self.live.take(event)
        self.listener.events.clear()
        await self.live.flush()
        async with self.product.database.transaction() as tx:
            await note_listening(tx, self.account.id, listening=True, now=self.clock.now())

    async def _note_stored(self) -> None:
        if not self._posted:
            return
        async with self.product.database.transaction() as tx:
            caught = set(await tx.column(Q["list_caught"]))
        now = self.clock.now()
        for key in self._posted.keys() & caught:
            self.outcome.late_s.append((now - self._posted.pop(key)).total_seconds())


async def measure_listen(*, hours: float = 4.0) -> Report:
    """Measure the same hours with a listener and without one."""
    minutes = round(hours * 60)
    with progress_bar("Measuring listening", total=2 * minutes) as advance:
        outcomes: list[Listened] = []
        for listens in (True, False):
            async with open_ground() as url:
                clock = VirtualClock(START)
                world = World(SEED, clock, unpaced_profile().but(lenses=("everything",)))
                world.add_account(READER)
                world.add_stream(STREAM, title="Packs")
                world.fill(STREAM, BEFORE, shape="archive")
                async with open_product(url, clock, world) as product:
                    run = await _start(product, world, clock, listens=listens)
                    for number in range(minutes):
                        await run.pass_minute(number)
                        advance(1)
                    outcomes.append(await run.finish())
    return _report(outcomes[0], outcomes[1], hours=hours)


async def _start(product: BenchProduct, world: World, clock: VirtualClock, *, listens: bool) -> Run:
    account = await product.follow()
    parts = product.parts
    live = LiveIntake(
        account,
        parts.links.manifest(account.platform),
        parts.database,
        clock,
        parts.ids,
        parts.rules,
    )
    listener = LinkListener(SimulatedLink(world, READER))
    if listens:
        await listener.start()
    return Run(world, clock, product, account, live if listens else None, listener)


def _report(listening: Listened, polling: Listened, *, hours: float) -> Report:
    ratio = listening.calls / polling.calls
    values = {
        "calls": listening.calls,
        "polling_calls": polling.calls,
        "ratio": round(ratio, 3),
        "missed": listening.missed,
        "polling_missed": polling.missed,
        "late_s_median": percentile(listening.late_s, 0.5),
        "late_s_longest": max(listening.late_s),
        "polling_late_s_median": percentile(polling.late_s, 0.5),
        "polling_late_s_longest": max(polling.late_s),
        "messages": round(hours * 60),
        "hours": hours,
        "python": platform.python_version(),
    }
    lines = [
        Figure(
            "calls while listening",
            f"{listening.calls}",
            floor=f"{polling.calls}",
            ratio=ratio,
            bound="ratio ≤ 1",
            ok=listening.calls <= polling.calls,
        ),
        Figure("missed", f"{listening.missed}", bound="0", ok=listening.missed == 0),
        Figure(
            "stored after, median",
            f"{values['late_s_median']:g} s",
            floor=f"{values['polling_late_s_median']:g} s",
        ),
        Figure(
            "stored after, longest",
            f"{values['late_s_longest']:g} s",
            floor=f"{values['polling_late_s_longest']:g} s",
        ),
    ]
    title = f"Listening for {hours:g} hours to a message a minute"
    note = "The floor is polling the same stream without a listener, at default settings."
    return Report("listen", title, values, lines, [note])
