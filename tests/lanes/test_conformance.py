"""The SQL of the lanes does what the pure model says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from headgate.domain.pacing import DAY_S, HORIZON_S, USE_SLOT_S, LanePlan, LaneState, Pace, grant_permits
from headgate.kernel.clock import VirtualClock
from headgate.storage.database import Database
from headgate.storage.lanes import lanes as rows
from headgate.storage.queries import QueryFile

Q = QueryFile(
    "test",
    """
-- name: lane_states
select
    kind, ceiling, burst, daily_cap, established, rate, epoch, rate_epoch, warm_days, uses,
    lane_seconds(rate_at - %(start)s) as rate_at_s,
    lane_seconds(tat - %(start)s) as tat_s,
    lane_seconds(cool_until - %(start)s) as cool_until_s,
    lane_seconds(warm_at - %(start)s) as warm_at_s,
    use_slot - lane_slot(%(start)s) as use_slot
from lane where owner = %(owner)s
""",
)

SHARED = "budget:messages"
DRAWN = {"send": (SHARED, "send"), "read": (SHARED, "read"), "list": ("list",)}


@dataclass(frozen=True)
class Take:
    kind: str
    count: int


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Signal:
    kind: str
    retry_after_s: float
    age: int


@dataclass(frozen=True)
class Adjust:
    kind: str
    pace: Pace


@dataclass(frozen=True)
class Establish:
    established: bool


Step = Take | Wait | Signal | Adjust | Establish

kinds = st.sampled_from(sorted(DRAWN))
paces = st.builds(
    Pace,
    per_minute=st.sampled_from([1.0, 7.0, 40.0, 60.0, 600.0]),
    burst=st.integers(2, 6),
    daily_cap=st.none() | st.integers(1, 20),
)
# Eighths of seconds are the same in binary fractions and in microseconds.
spans = st.integers(0, 80).map(lambda eighths: eighths / 8) | st.sampled_from([600.0, 1799.5, 4e4, DAY_S])
steps_of_a_lane: st.SearchStrategy[Step] = st.one_of(
    st.builds(Take, kinds, st.integers(1, 12)),
    st.builds(Take, kinds, st.integers(1, 12)),
    st.builds(Wait, spans),
    st.builds(Signal, kinds, st.sampled_from([0.0, 2.0, 30.0]), st.integers(0, 2)),
    st.builds(Adjust, st.sampled_from([SHARED, "send", "list"]), paces),
    st.builds(Establish, st.booleans()),
)


class Comparison:
    """Makes each step in the database and in the model, and compares what both say and remember."""

    def __init__(self, database: Database, clock: VirtualClock, owner: str, paces: dict[str, Pace]) -> None:
        self.database = database
        self.clock = clock
        self.owner = owner
        self.plans = {
            kind: LanePlan(kind, pace, SHARED if kind in ("send", "read") else None)
            for kind, pace in paces.items()
        }
        # The examples share a clock; each begins with a slot of the daily cap.
        clock.advance(-clock.monotonic() % USE_SLOT_S)
        self.start = clock.now()
        self.model = {
            kind: LaneState.created(pace, established=False, at_s=0.0) for kind, pace in paces.items()
        }

    @property
    def at_s(self) -> float:
        return (self.clock.now() - self.start).total_seconds()

    async def begin(self) -> None:
        async with self.database.transaction() as tx:
            plans = list(self.plans.values())
            await rows.insert_lanes(tx, owners=[self.owner], plans=plans, established=False)

    async def make(self, step: Step) -> None:
        match step:
            case Take(kind, count):
                await self.take(kind, count)
            case Wait(seconds):
                self.clock.advance(seconds)
            case Signal(kind, retry_after_s, age):
                await self.signal(kind, retry_after_s, age)
            case Adjust(kind, pace):
                await self.adjust(kind, pace)
            case Establish(established):
                await self.establish(established)

    async def take(self, kind: str, count: int) -> None:
        drawn = [self.model[name] for name in DRAWN[kind]]
        grant = grant_permits(drawn, count=count, at_s=self.at_s)
        for horizon_s in (HORIZON_S - 1e-4, HORIZON_S + 1e-4):
            near = grant_permits(drawn, count=count, at_s=self.at_s, horizon_s=horizon_s)
            if len(near.times_s) != len(grant.times_s):
                reject()
        async with self.database.autocommit() as tx:
            taken = (await rows.take_permits(tx, [rows.Want(self.owner, kind, count, HORIZON_S)]))[0]
        assert taken is not None
        assert taken.kinds == list(DRAWN[kind])
        assert taken.delays_s == pytest.approx([time_s - self.at_s for time_s in grant.times_s], abs=1e-5)
        if grant.come_back_at_s is not None:
            assert taken.come_back_s == pytest.approx(grant.come_back_at_s - self.at_s, abs=1e-5)
        assert taken.epochs == [state.epoch for state in drawn]
        assert taken.grace_s == min(state.pace.grace_s for state in drawn)
        self.model |= dict(zip(DRAWN[kind], grant.lanes, strict=True))

    async def signal(self, kind: str, retry_after_s: float, age: int) -> None:
        epochs = {name: max(1, self.model[name].epoch - age) for name in DRAWN[kind]}
        for name, epoch in epochs.items():
            self.model[name] = self.model[name].limited(self.at_s, retry_after_s=retry_after_s, epoch=epoch)
        async with self.database.transaction() as tx:
            await rows.signal_limit(tx, owner=self.owner, epochs=epochs, retry_after_s=retry_after_s)

    async def adjust(self, kind: str, pace: Pace) -> None:
        established = self.model[kind].established
        self.model[kind] = self.model[kind].adjusted(self.at_s, pace=pace, established=established)
        self.plans[kind] = replace(self.plans[kind], pace=pace)
        async with self.database.transaction() as tx:
            plans = [self.plans[kind]]
            await rows.change_lanes(tx, owners=[self.owner], plans=plans, established=None, by_person=True)

    async def establish(self, established: bool) -> None:
        for kind, state in self.model.items():
            self.model[kind] = state.adjusted(self.at_s, pace=state.pace, established=established)
        async with self.database.transaction() as tx:
            plans = list(self.plans.values())
            await rows.change_lanes(
                tx, owners=[self.owner], plans=plans, established=established, by_person=False
            )

    async def compare(self) -> None:
        async with self.database.transaction() as tx:
            stored = await tx.all(StoredState, Q["lane_states"], owner=self.owner, start=self.start)
        for row in stored:
            state = self.model[row.kind]
            assert row.figures() == pytest.approx(figures_of(state), abs=1e-5), row.kind
            # Rounding to microseconds must not add up over the steps.
            self.model[row.kind] = replace(state, tat_s=row.tat_s)


@dataclass(frozen=True)
class StoredState:
    kind: str
    ceiling: float
    burst: int
    daily_cap: int | None
    established: bool
    rate: float
    epoch: int
    rate_epoch: int
    warm_days: int
    uses: list[int]
    rate_at_s: float
    tat_s: float
    cool_until_s: float
    warm_at_s: float | None
    use_slot: int

    def figures(self) -> dict[str, Any]:
        own = vars(self).copy()
        del own["kind"]
        uses = own.pop("uses")
        return own | {f"use_{place}": use for place, use in enumerate(uses)}


def figures_of(state: LaneState) -> dict[str, Any]:
    own = vars(state).copy()
    pace: Pace = own.pop("pace")
    uses = own.pop("uses")
    return (
        own
        | {"ceiling": pace.per_minute, "burst": pace.burst, "daily_cap": pace.daily_cap}
        | {f"use_{place}": use for place, use in enumerate(uses)}
    )


_OWNERS = itertools.count()


@pytest.mark.long
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    first=st.fixed_dictionaries(dict.fromkeys([SHARED, "send", "read", "list"], paces)),
    steps=st.lists(steps_of_a_lane, min_size=5, max_size=30),
)
async def test_the_database_and_the_model_agree(
    database: Database, clock: VirtualClock, first: dict[str, Pace], steps: list[Step]
) -> None:
    comparison = Comparison(database, clock, f"account {next(_OWNERS)}", first)
    await comparison.begin()
    for step in steps:
        await comparison.make(step)
        await comparison.compare()
