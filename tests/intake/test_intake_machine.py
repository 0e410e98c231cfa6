"""Scans, live events, edits, settings, failures and crashes in any order: coverage is true at every step.

Hypothesis chooses what happens next. At the end the faults stop, time passes, and then every message that
should be an item is one, exactly once.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from machine_bench import Died, MachineBench, Runs

from headgate.domain.errors import UserError, WorkError
from headgate.intake.channels import accounts, requests
from headgate.intake.streams.misses import retry_misses
from headgate.jobs.letters import replay
from headgate.storage.channels import intake_settings
from headgate.storage.channels.requests import ScanWish
from headgate.storage.jobs.dead_letters import list_dead_letters
from headgate.testing import file_of
from headgate.testing.platform.faults import FaultRates
from headgate.testing.simulator.streams.person import DIRECTIONS, LAYERS

pytestmark = [pytest.mark.once, pytest.mark.long]

PROFILES = ("plain", "telegram_like", "matrix_like", "hostile")
FILES = (("zip", "application/zip"), ("jpg", "image/jpeg"), ("pdf", "application/pdf"))
FAILURES = (
    FaultRates(timeout_after=1.0),
    FaultRates(flood=1.0),
    FaultRates(malformed=0.5),
    FaultRates(disconnect=0.5, live_end=0.5),
    FaultRates(live_duplicate=0.5, live_reorder=0.5, live_drop=0.5),
)

EXAMPLES = 20

which = st.integers(0, 99)


class IntakeMachine(RuleBasedStateMachine):
    """One process at a time, on the real database, in hand-moved time."""

    judged = 0
    """How many runs came to rest."""

    def __init__(self, server_url: str, template: str) -> None:
        super().__init__()
        self.runs = Runs(server_url, template)
        self.files = 0

    @initialize(profile=st.sampled_from(PROFILES))
    def begin(self, profile: str) -> None:
        self.bench: MachineBench = self.runs.open(profile)
        self.world = self.bench.world

    def do(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that may fail, and in which the process may die."""
        try:
            self.runs.run(work)
        except Died:
            self.runs.run(self.bench.die())
        except (WorkError, UserError):
            pass

    @rule(stream=which, kind=which, files=st.integers(0, 2))
    def post(self, stream: int, kind: int, files: int) -> None:
        key = self.stream(stream)
        topics = self.world.stream(key).topics
        links = ["https://example.org/1"] if kind % 5 == 0 else []
        topic = topics[kind % len(topics)] if topics else ""
        self.world.post(
            key, text="words", files=[self.file(kind + n) for n in range(files)], links=links, topic=topic
        )

    @rule(stream=which, message=which, kind=which, files=st.integers(0, 2))
    def edit(self, stream: int, message: int, kind: int, files: int) -> None:
        if place := self.message(stream, message):
            self.world.edit(*place, text="edited", files=[self.file(kind + n) for n in range(files)])

    @rule(stream=which, message=which)
    def delete(self, stream: int, message: int) -> None:
        if place := self.message(stream, message):
            self.world.delete(*place)

    @rule(stream=which, message=which, garbled=st.booleans())
    def garble(self, stream: int, message: int, garbled: bool) -> None:
        if place := self.message(stream, message):
            self.world.garble(*place, garbled=garbled)

    @rule()
    def move_a_group(self) -> None:
        if len(self.world.streams) < 3:
            self.world.migrate_group("talk")
            self.do(self.bench.follow())

    @rule(seconds=st.sampled_from([1.0, 10.0, 35.0, 400.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.runs.run(self.bench.advance(seconds))

    @rule(steps=st.integers(1, 12))
    def work(self, steps: int) -> None:
        self.do(self.bench.work(steps))

    @rule(steps=st.integers(1, 6), points=st.integers(0, 60))
    def die_at_work(self, steps: int, points: int) -> None:
        self.bench.fate.points_left = points
        self.do(self.bench.work(steps))
        self.bench.fate.points_left = None

    @rule(points=st.integers(0, 15))
    def die_writing_live_events(self, points: int) -> None:
        self.bench.fate.points_left = points
        self.do(self.bench.hear(write=True))
        self.bench.fate.points_left = None

    @rule(failure=st.sampled_from(FAILURES), steps=st.integers(1, 6))
    def work_in_vain(self, failure: FaultRates, steps: int) -> None:
        self.world.faults.resume(failure)
        self.do(self.bench.work(steps))
        self.world.faults.stop()

    @rule()
    def reconnect(self) -> None:
        self.do(self.bench.connect())

    @rule(write=st.booleans())
    def hear(self, write: bool) -> None:
        self.do(self.bench.hear(write=write))

    @rule(channel=which, layer=st.sampled_from(LAYERS), of_all=st.booleans())
    def change_settings(self, channel: int, layer: dict[str, Any], of_all: bool) -> None:
        self.do(self._change_settings(channel, layer, of_all=of_all))

    @rule(channel=which, enabled=st.booleans())
    def switch(self, channel: int, enabled: bool) -> None:
        self.do(self._switch(channel, enabled=enabled))

    @rule(
        channel=which,
        direction=st.sampled_from(DIRECTIONS),
        limit=st.integers(1, 50),
        on=st.booleans(),
        reset=st.booleans(),
    )
    def ask(self, channel: int, direction: Any, limit: int, on: bool, reset: bool) -> None:
        self.do(self._ask(channel, ScanWish(direction, limit, on), reset=reset))

    @rule()
    def retry(self) -> None:
        self.do(self._retry())

    @invariant()
    def what_is_covered_was_taken_in(self) -> None:
        assert self.runs.run(self.bench.check()) == []

    def teardown(self) -> None:
        """Let the faults stop, and judge what has come of it all."""
        if not hasattr(self, "bench"):
            return
        try:
            self.world.calm()
            self.runs.run(self._mend())
            assert self.runs.run(self.bench.rest(last_forms=False)) == []
            self.runs.run(self._reset_all())
            assert self.runs.run(self.bench.rest(last_forms=True)) == []
            IntakeMachine.judged += 1
        finally:
            self.runs.close()

    async def _change_settings(self, channel: int, layer: dict[str, Any], *, of_all: bool) -> None:
        channel_id = await self._channel(channel)
        async with self.bench.database.transaction() as tx:
            if of_all:
                await intake_settings.set_everything(tx, layer, now=self.bench.clock.now())
            else:
                await intake_settings.set_channel(tx, channel_id, layer, now=self.bench.clock.now())

    async def _switch(self, channel: int, *, enabled: bool) -> None:
        channel_id = await self._channel(channel)
        async with self.bench.database.transaction() as tx:
            attempt = requests.enable if enabled else requests.disable
            await attempt(tx, channel_id, now=self.bench.clock.now())

    async def _ask(self, channel: int, wish: ScanWish, *, reset: bool) -> None:
        channel_id = await self._channel(channel)
        async with self.bench.database.transaction() as tx:
            ask = requests.reset_scan if reset else requests.ask_scan
            await ask(tx, channel_id, wish, ids=self.bench.parts.ids, now=self.bench.clock.now())

    async def _retry(self) -> None:
        async with self.bench.database.transaction() as tx:
            await retry_misses(tx, now=self.bench.clock.now())

    async def _mend(self) -> None:
        """Do what waits for a person."""
        bench, now = self.bench, self.bench.clock.now()
        account = await bench.account()
        async with bench.database.transaction() as tx:
            await accounts.reactivate(tx, account.id, now=now)
        await bench.follow()
        for channel_id, _ in await bench.channels():
            async with bench.database.transaction() as tx:
                await requests.enable(tx, channel_id, now=now)
        async with bench.database.transaction() as tx:
            for letter in await list_dead_letters(tx):
                if letter.state == "open":
                    await replay(tx, bench.parts.kinds, letter.id, now=now)
        await self._retry()
        # The rest of a stream of which only a sample was read waits for a person.
        for number, _ in enumerate(await bench.channels()):
            await self._ask(number, ScanWish(), reset=False)

    async def _reset_all(self) -> None:
        for number, _ in enumerate(await self.bench.channels()):
            await self._ask(number, ScanWish(), reset=True)

    async def _channel(self, number: int) -> Any:
        channels = await self.bench.channels()
        return channels[number % len(channels)][0]

    def stream(self, number: int) -> str:
        keys = sorted(key for key, stream in self.world.streams.items() if not stream.continued_by)
        return keys[number % len(keys)]

    def message(self, stream: int, number: int) -> tuple[str, str] | None:
        key = self.stream(stream)
        messages = self.world.messages(key)
        return (key, messages[-1 - number % len(messages)].key) if messages else None

    def file(self, kind: int) -> Any:
        self.files += 1
        ending, mime_type = FILES[kind % len(FILES)]
        return file_of(f"file-{self.files}.{ending}", f"{self.files}".encode(), mime_type=mime_type)


def test_everything_is_caught_once_whatever_happens_in_whatever_order(server_url: str, template: str) -> None:
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType] - Hypothesis leaves it untyped
        cast("type[IntakeMachine]", lambda: IntakeMachine(server_url, template)),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
            # Shrinking takes long on a real database; whoever needs it adds the phase.
            phases=[Phase.generate],
        ),
    )
    assert IntakeMachine.judged >= EXAMPLES
