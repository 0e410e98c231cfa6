"""The stage: one actor at a time, the time in our hands, and the power to crash whoever plays.

Actors are ordinary tasks. At each *point* (before and after a transaction, around a call to the outside) an
actor stops and the director chooses by the seed who goes on. While they wait for each other or for the
database nothing is chosen: the director waits until all is quiet, so a seed gives the same play every time.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from headgate.kernel.clock import Clock
from headgate.kernel.randomness import Randomness


@dataclass(eq=False)
class Troupe:
    """The actors of one process: they are paused together, and die together."""

    name: str
    crashed: bool = False
    over: bool = False
    """The play is over: whoever still wants something is turned away."""
    safe: bool = False
    """It is never stopped: people, and the world itself."""
    paused_until_s: float = 0.0
    holds: int = 0
    """Transactions under way; while it lives nobody else is cued."""
    tasks: list[asyncio.Task[Any]] = field(default_factory=list[asyncio.Task[Any]])
    left: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])
    """Cues that nobody will give any more."""

    def start(self, *parts: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
        """Let coroutines play; whatever tasks they start belong to the troupe too."""
        context = copy_context()
        context.run(CURRENT.set, self)
        tasks = [asyncio.create_task(part, context=context.copy()) for part in parts]
        self.tasks += tasks
        return tasks


CURRENT: ContextVar[Troupe | None] = ContextVar("troupe", default=None)
AT_WORK: ContextVar[bool] = ContextVar("at_work", default=False)
"""Whether an actor is carrying out a job."""


@dataclass(frozen=True)
class WaitingActor:
    """An actor that waits for its cue, or for a time."""

    troupe: Troupe
    cue: asyncio.Future[None]
    label: str
    wake_s: float | None = None


@dataclass(frozen=True)
class Perils:
    """How probable it is that a process dies or is stopped at a point."""

    crash: float = 0.0
    pause: float = 0.0
    lost_connection: float = 0.0
    longest_pause_s: float = 60.0
    stops: bool = False
    """Processes are asked to stop now and then, end in order, and are started again."""
    clock_steps: tuple[float, ...] = ()
    """By how many seconds, give or take a half, the machine's clock is set; the platform's never is."""


class Stuck(AssertionError):
    """Nobody can go on, and nothing will ever wake anybody."""


UNDER_WAY_S = 8.0
"""How long a call may take from the decision to make it: its lane's patience, and some steps of others."""


class Stage:
    """Directs all troupes of a play."""

    def __init__(
        self, seed: int, start: datetime, *, tell_time: Callable[[datetime], Awaitable[None]]
    ) -> None:
        self.start = start
        self.elapsed_s = 0.0
        self.perils = Perils()
        self.points = 0
        self.crashes = 0
        self.risky_points = 0
        """Those at which a process can die and leave something else than at the one before."""
        self.crash_at: int | None = None
        """The risky point at which whoever comes to it dies."""
        self.job_points = 0
        """Those of them that are inside of a job."""
        self.crash_at_job_point: int | None = None
        self.crashed_s: list[float] = []
        self.lost_s: list[float] = []
        """When a connection to the database was lost."""
        self.choices = Randomness(seed).fork("stage")
        self._tell_time = tell_time
        self._waiting: dict[int, WaitingActor] = {}
        self._order = itertools.count()
        self.troupes: list[Troupe] = []
        self._freed = asyncio.Event()
        self.pauses: list[tuple[float, float]] = []
        """From when to when some process was stopped."""
        self.steps: list[tuple[float, float]] = []
        """When the machine's clock was set, and by how many seconds."""
        self._trace = hashlib.sha256()

    @property
    def trace(self) -> str:
        """A digest of everything that was chosen so far."""
        return self._trace.hexdigest()

    def now(self) -> datetime:
        """Return what the machine's clock shows."""
        return self.shown_at(self.elapsed_s)

    def true_now(self) -> datetime:
        """Return what a clock shows that nobody ever set: the platform's."""
        return self.start + timedelta(seconds=self.elapsed_s)

    def shown_at(self, elapsed_s: float) -> datetime:
        """Return what the machine's clock showed at a moment of the play."""
        stepped_s = sum(by_s for at_s, by_s in self.steps if at_s <= elapsed_s)
        return self.start + timedelta(seconds=elapsed_s + stepped_s)

    def over_at_s(self, since_s: float, under_way_s: float = UNDER_WAY_S) -> float:
        """Return when all that was under way is over, also in processes that were stopped meanwhile."""
        over_s = since_s + under_way_s
        for began_s, ended_s in sorted(self.pauses):
            if began_s <= over_s:
                over_s = max(over_s, ended_s + under_way_s)
        return over_s

    async def step_clock(self, by_s: float) -> None:
        """Set the machine's clock forward or back; waits go by the monotonic clock and stay as they are."""
        self.steps.append((self.elapsed_s, by_s))
        self._note(f"clock {by_s}")
        await self._tell_time(self.now())

    async def point(self, label: str, *, switch: bool = True, undone: bool = False) -> None:
        """Let the director choose; without `switch` the actor can only die here (inside a transaction).

        `undone` says that a death here leaves what one at the beginning of its transaction leaves: nobody
        else went on since, and the server undoes the rest. Plays die there by chance, and never by number.
        """
        troupe = CURRENT.get()
        if troupe is None:
            return
        self.points += 1
        self._note(f"{troupe.name} {label}")
        self._endanger(troupe, undone=undone)
        if switch or troupe.crashed:
            await self._wait(WaitingActor(troupe, _cue(), label))

    async def sleep(self, seconds: float) -> None:
        troupe = CURRENT.get()
        if troupe is None:
            raise RuntimeError("only actors sleep")
        wake_s = self.elapsed_s + max(seconds, 0.0)
        await self._wait(WaitingActor(troupe, _cue(), "sleep", wake_s))

    def hold(self) -> None:
        """A transaction begins: whatever its actor waits for, nobody else goes on."""
        if troupe := CURRENT.get():
            troupe.holds += 1

    def release(self) -> None:
        if troupe := CURRENT.get():
            troupe.holds -= 1
            self._freed.set()

    def loses_connection(self) -> bool:
        lost = CURRENT.get() is not None and self.choices.chance(self.perils.lost_connection)
        if lost:
            self.lost_s.append(self.elapsed_s)
        return lost

    async def play(self, *, until_s: float, between: Callable[[], Awaitable[None]]) -> None:
        """Direct until a time; `between` is called whenever all is quiet (to bury and replace the dead)."""
        while True:
            await self._settle()
            await between()
            await self._settle()
            ready = [number for number, waiting in self._waiting.items() if self._can_go(waiting)]
            if ready:
                self._cue_one(self.choices.choice(ready))
                continue
            wake_s = self._next_wake_s()
            if wake_s is None and any(troupe.crashed for troupe in self.troupes):
                # Whoever was to go on died while it began.
                continue
            if wake_s is None:
                raise Stuck(f"nobody can go on: {[waiting.label for waiting in self._waiting.values()]}")
            if wake_s > until_s:
                await self._move_to(until_s)
                return
            await self._move_to(wake_s)

    def enter(self, name: str, *, safe: bool = False) -> Troupe:
        """Return a new troupe on the stage."""
        troupe = Troupe(name, safe=safe)
        self.troupes.append(troupe)
        return troupe

    def forget(self, troupe: Troupe) -> None:
        """Take a troupe off the stage; its tasks never go on."""
        self.troupes.remove(troupe)
        troupe.left += [waiting.cue for waiting in self._waiting.values() if waiting.troupe is troupe]
        self._waiting = {n: waiting for n, waiting in self._waiting.items() if waiting.troupe is not troupe}

    def _endanger(self, troupe: Troupe, *, undone: bool) -> None:
        if troupe.safe:
            return
        if not undone:
            self.risky_points += 1
            self.job_points += AT_WORK.get()
        if self.choices.chance(self.perils.crash) or (not undone and self._is_last_point()):
            troupe.crashed = True
            self._freed.set()
            self.crashes += 1
            self.crashed_s.append(self.elapsed_s)
            self._note("crash")
        elif self.choices.chance(self.perils.pause):
            troupe.paused_until_s = self.elapsed_s + self.choices.uniform(1, self.perils.longest_pause_s)
            self.pauses.append((self.elapsed_s, troupe.paused_until_s))
            self._note("pause")

    def _is_last_point(self) -> bool:
        """Tell whether this is the point that somebody chose for a crash."""
        if self.risky_points == self.crash_at:
            return True
        return AT_WORK.get() and self.job_points == self.crash_at_job_point

    async def _wait(self, waiting: WaitingActor) -> None:
        if waiting.troupe.over:
            raise asyncio.CancelledError
        number = next(self._order)
        self._waiting[number] = waiting
        try:
            await waiting.cue
        finally:
            self._waiting.pop(number, None)

    def _can_go(self, waiting: WaitingActor) -> bool:
        troupe = waiting.troupe
        awake = waiting.wake_s is None or waiting.wake_s <= self.elapsed_s
        return awake and not troupe.crashed and troupe.paused_until_s <= self.elapsed_s

    def _next_wake_s(self) -> float | None:
        times = [
            max(waiting.wake_s or 0.0, waiting.troupe.paused_until_s)
            for waiting in self._waiting.values()
            if not waiting.troupe.crashed
        ]
        return min(times, default=None)

    def _cue_one(self, number: int) -> None:
        waiting = self._waiting.pop(number)
        self._note(f"cue {waiting.troupe.name} {waiting.label}")
        if not waiting.cue.done():
            waiting.cue.set_result(None)

    async def leap(self, seconds: float) -> None:
        """Let so much time pass at once, whatever was to happen in it."""
        await self._move_to(self.elapsed_s + seconds)

    async def _move_to(self, elapsed_s: float) -> None:
        if elapsed_s > self.elapsed_s:
            self.elapsed_s = elapsed_s
            await self._tell_time(self.now())

    async def _settle(self) -> None:
        """Wait until every task waits for its cue, for a time, or for another task."""
        loop: Any = asyncio.get_running_loop()
        while True:
            if self._held():
                self._freed.clear()
                await self._freed.wait()
            elif loop._ready:  # noqa: SLF001 - there is no other way to know that nobody can run
                await asyncio.sleep(0)
            else:
                return

    def _held(self) -> bool:
        return any(troupe.holds and not troupe.crashed for troupe in self.troupes)

    def _note(self, what: str) -> None:
        self._trace.update(what.encode())
        self._trace.update(b"\n")


def _cue() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


class StageClock(Clock):
    """The machine's clock: both times are the stage's."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def now(self) -> datetime:
        return self._stage.now()

    def monotonic(self) -> float:
        return self._stage.elapsed_s

    async def sleep(self, real_s: float) -> None:
        await self._stage.sleep(real_s)

    def real_s_until(self, at: datetime) -> float:
        return max(0.0, (at - self.now()).total_seconds())


class TrueClock(StageClock):
    """The platform's clock, which nobody sets."""

    def now(self) -> datetime:
        return self._stage.true_now()
