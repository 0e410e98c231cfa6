"""The person who steers fan-outs: pauses, resumes and cancels runs; and groups that shut an account out.

What was asked for when is noted, so that the judgement can tell which messages were forbidden from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headgate.domain.errors import UserError
from headgate.kernel.randomness import Randomness
from headgate.outflow.sending import controls
from headgate.storage.errors import DatabaseAway
from headgate.storage.sending.sending import set_group_concurrency
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.stage import Stage

EVERY_S = (3.0, 20.0)


@dataclass
class Halt:
    """Nothing of an account's run may begin: from the commit on until shortly before it was resumed."""

    account: str
    since_s: float
    until_s: float = float("inf")
    for_good: bool = False


@dataclass
class Steering:
    """Steers runs while they are under way; each account of a play has one run."""

    stage: Stage
    world: World
    database: StagedDatabase
    choices: Randomness
    halts: list[Halt] = field(default_factory=list[Halt])
    shut_out: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Accounts and groups that were closed to them at some time."""

    async def meddle(self) -> None:
        """Do something every few seconds, for ever."""
        deeds = [deed for deed, weight in self._deeds() for _ in range(weight)]
        while True:
            await self.stage.sleep(self.choices.uniform(*EVERY_S))
            with suppress(DatabaseAway, UserError):
                await self.choices.choice(deeds)()

    def _deeds(self) -> Sequence[tuple[Callable[[], Awaitable[None]], int]]:
        return (
            (self._pause, 4),
            (self._resume, 6),
            (self._cancel, 1),
            (self._shut_out, 2),
            (self._set_concurrency, 1),
        )

    async def resume_all(self) -> None:
        """Let everything go on that a person has stopped."""
        for run in await self._runs("paused_by = 'person'"):
            await self._let_go_on(run)

    async def _pause(self) -> None:
        if run := await self._any_run("ended_at is null and state <> 'paused'"):
            async with self.database.transaction() as tx:
                await controls.pause(tx, run["id"])
            self.halts.append(Halt(run["account_name"], self.stage.elapsed_s))

    async def _resume(self) -> None:
        if run := await self._any_run("paused_by = 'person'"):
            await self._let_go_on(run)

    async def _let_go_on(self, run: dict[str, Any]) -> None:
        for halt in self.halts:
            if halt.account == run["account_name"] and not halt.for_good:
                halt.until_s = min(halt.until_s, self.stage.elapsed_s)
        async with self.database.transaction() as tx:
            await controls.resume(tx, run["id"], now=self.stage.now())

    async def _cancel(self) -> None:
        if run := await self._any_run("ended_at is null"):
            async with self.database.transaction() as tx:
                await controls.cancel(tx, run["id"], now=self.stage.now())
            self.halts.append(Halt(run["account_name"], self.stage.elapsed_s, for_good=True))

    async def _shut_out(self) -> None:
        """Shut an account out of a group, or let it in again."""
        group = self.choices.choice(list(self.world.groups.values()))
        account = self.choices.choice(sorted(self.world.accounts))
        members = set(self.world.accounts) if group.members is None else group.members
        self.shut_out.add((account, group.key))
        group.members = members ^ {account}

    async def _set_concurrency(self) -> None:
        if run := await self._any_run("ended_at is null"):
            async with self.database.transaction() as tx:
                await set_group_concurrency(tx, run["account_id"], 1 + self.choices.below(4))

    async def _any_run(self, where: str) -> dict[str, Any] | None:
        runs = await self._runs(where)
        return self.choices.choice(runs) if runs else None

    async def _runs(self, where: str) -> list[dict[str, Any]]:
        async with self.database.transaction() as tx:
            return await tx.raw(
                f"select id, account_id, account_name from run where {where} order by account_name"  # noqa: S608 - our own words
            )
