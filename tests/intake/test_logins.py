"""Logins: durable between their steps, one step at a time, and at the platform's pace."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate.app.parts import StoredSecrets
from headgate.connectors.login_steps import Ask, LoginAttempt, LoginStep, Question, Waiting
from headgate.domain.errors import NotFound, UserError
from headgate.intake.channels.logins import CLAIM, LIFE, STEP_S, Login, LoginReply, Logins, LoginWish
from headgate.kernel.clock import VirtualClock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.lanes import Lanes
from headgate.lanes.links import Links
from headgate.storage.channels.account_logins import delete_expired_logins
from headgate.storage.channels.channels import list_accounts
from headgate.storage.database import Database
from headgate.testing import SimulatedConnector, World
from headgate.testing.platform.errors import SimAuthError, SimTimeout
from headgate.testing.platform.login import CODE

START = datetime(2026, 5, 4, 12, tzinfo=UTC)
SECRET = "the code of a person"


class Platform(SimulatedConnector):
    """The simulated platform, which counts steps and can stop in one or fail it."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.attempts: list[LoginAttempt] = []
        self.gate: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.failure: Exception | None = None

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        self.attempts.append(attempt)
        self.reached.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return await super().login(attempt)


@dataclass
class Bench:
    database: Database
    data_dir: Path
    clock: VirtualClock
    world: World
    platform: Platform

    def process(self, number: int = 1) -> Logins:
        """Return what one process signs accounts in with."""
        ids = Ids(self.clock, Randomness(number))
        stored = StoredSecrets(self.database, self.data_dir)
        links = Links({"simulated": self.platform}, Lanes(self.database, self.clock), stored)
        return Logins(links, self.data_dir, ids, self.clock, self.clock)

    async def rows(self, sql: str) -> list[dict[str, Any]]:
        async with self.database.transaction() as tx:
            return await tx.raw(sql, ())

    async def show_qr(self, logins: Logins) -> tuple[Login, Waiting]:
        login = await logins.begin(LoginWish("simulated", "reader"))
        login = await logins.go_on(login.id, LoginReply(action="qr"))
        assert isinstance(login.step, Waiting)
        return login, login.step


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Bench:
    clock = VirtualClock(START)
    world = World(1, clock)
    world.add_account("reader")
    return Bench(database, tmp_path, clock, world, Platform(world))


def shown_text(step: object) -> str:
    assert isinstance(step, Waiting)
    assert step.shown is not None
    return step.shown.value


async def test_another_process_goes_on_where_the_first_one_stopped(bench: Bench) -> None:
    login = await bench.process(1).begin(LoginWish("simulated", "reader"))
    assert isinstance(login.step, Ask)
    assert await bench.process(2).get(login.id) == login
    resent = await bench.process(2).go_on(login.id, LoginReply(action="resend"))
    assert isinstance(resent.step, Ask)
    # Only the state tells that a second code was sent.
    done = await bench.process(3).go_on(login.id, LoginReply({"code": str(int(CODE) + 1)}))
    assert done.account_id is not None
    assert [one.state for one in await _accounts(bench)] == ["active"]


async def test_answers_and_state_are_only_stored_sealed_and_go_when_it_has_ended(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated"))
    await logins.go_on(login.id, LoginReply({"account": "reader"}))
    (sealed,) = await bench.rows("select ciphertext from secret")
    (row,) = await bench.rows("select * from account_login")
    assert b"reader" not in bytes(sealed["ciphertext"])
    assert "reader" not in str(row)
    await logins.go_on(login.id, LoginReply({"code": CODE}))
    assert [row["owner"][:8] for row in await bench.rows("select owner from secret")] == ["account:"]


async def test_an_unnamed_account_gets_the_platforms_name_and_signs_in_again_under_it(bench: Bench) -> None:
    logins = bench.process()
    ids: set[object] = set()
    for _ in range(2):
        login = await logins.begin(LoginWish("simulated"))
        login = await logins.go_on(login.id, LoginReply({"account": "reader"}))
        login = await logins.go_on(login.id, LoginReply({"code": CODE}))
        ids.add(login.account_id)
    assert [one.name for one in await _accounts(bench)] == ["reader"]
    assert len(ids) == 1


async def test_a_wrong_answer_leaves_the_question_open(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    with pytest.raises(UserError, match="the code is wrong"):
        await logins.go_on(login.id, LoginReply({"code": "0"}))
    again = await logins.get(login.id)
    assert again.step == login.step
    assert (await logins.go_on(login.id, LoginReply({"code": CODE}))).account_id is not None


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (LoginReply({"code": " "}), "is missing"),
        (LoginReply({"code": "x" * 5000}), "too long"),
        (LoginReply({"password": "x"}), "moved on"),
        (LoginReply(action="jump"), "moved on"),
    ],
)
async def test_a_reply_that_does_not_fit_the_step_never_reaches_the_platform(
    bench: Bench, reply: LoginReply, said: str
) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    with pytest.raises(UserError, match=said):
        await logins.go_on(login.id, reply)
    assert len(bench.platform.attempts) == 1


async def test_the_platform_is_polled_at_its_own_pace_however_many_ask(bench: Bench) -> None:
    logins = bench.process()
    login, step = await bench.show_qr(logins)
    asked = len(bench.platform.attempts)
    for _ in range(5):
        assert (await logins.go_on(login.id)).step == step
    assert len(bench.platform.attempts) == asked
    bench.clock.advance(step.ask_again_s)
    await asyncio.gather(*(bench.process(n).go_on(login.id) for n in range(5)))
    assert len(bench.platform.attempts) == asked + 1


async def test_a_question_is_not_polled(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    bench.clock.advance(60)
    assert (await logins.go_on(login.id)).step == login.step
    assert len(bench.platform.attempts) == 1


async def test_a_qr_code_is_renewed_and_signs_in_when_it_is_scanned(bench: Bench) -> None:
    logins = bench.process()
    login, step = await bench.show_qr(logins)
    first = shown_text(step)
    bench.clock.advance(31)
    renewed = shown_text((await logins.go_on(login.id)).step)
    assert renewed != first
    bench.world.scanned_codes.add(renewed)
    bench.clock.advance(2)
    done = await logins.go_on(login.id)
    assert done.account_id is not None
    # Whoever else has the page open learns it, too.
    assert (await bench.process(2).go_on(login.id)).account_id == done.account_id
    assert (await bench.process(2).get(login.id)).account_id == done.account_id


async def test_one_process_at_a_time_takes_a_step(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    bench.platform.gate = asyncio.Event()
    bench.platform.reached.clear()
    first = asyncio.create_task(logins.go_on(login.id, LoginReply({"code": CODE})))
    await bench.platform.reached.wait()
    with pytest.raises(UserError, match="still being asked"):
        await bench.process(2).go_on(login.id, LoginReply({"code": CODE}))
    assert (await bench.process(2).go_on(login.id)).step == login.step
    bench.platform.gate.set()
    assert (await first).account_id is not None
    assert len(await _accounts(bench)) == 1


async def test_a_process_that_died_in_a_step_holds_the_login_only_for_a_while(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    # What a kill -9 leaves: the claim is taken, and nobody gives it back.
    await bench.rows(
        f"update account_login set claim = id, claimed_until = '{(START + CLAIM).isoformat()}' returning id"
    )
    with pytest.raises(UserError, match="still being asked"):
        await logins.go_on(login.id, LoginReply({"code": CODE}))
    bench.clock.advance(CLAIM.total_seconds())
    assert (await logins.go_on(login.id, LoginReply({"code": CODE}))).account_id is not None


async def test_a_step_that_lost_its_claim_stores_nothing(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    bench.platform.gate = asyncio.Event()
    bench.platform.reached.clear()
    late = asyncio.create_task(logins.go_on(login.id, LoginReply({"code": CODE})))
    await bench.platform.reached.wait()
    await bench.process(2).cancel(login.id)
    bench.platform.gate.set()
    with pytest.raises(NotFound):
        await late
    assert await _accounts(bench) == []
    assert await bench.rows("select owner from secret") == []


async def test_a_failing_poll_does_not_end_the_login(bench: Bench) -> None:
    logins = bench.process()
    login, step = await bench.show_qr(logins)
    bench.platform.failure = SimTimeout("read")
    bench.clock.advance(2)
    failed = await logins.go_on(login.id)
    assert failed.step == step
    assert "The last check failed" in failed.problem
    bench.platform.failure = None
    bench.world.scanned_codes.add(shown_text(step))
    bench.clock.advance(5)
    assert (await logins.go_on(login.id)).account_id is not None


async def test_a_login_that_the_platform_refuses_says_why(bench: Bench) -> None:
    logins = bench.process()
    login, _ = await bench.show_qr(logins)
    bench.platform.failure = SimAuthError("denied on the other device")
    bench.clock.advance(2)
    with pytest.raises(UserError, match="denied on the other device"):
        await logins.go_on(login.id)


async def test_an_expired_login_is_over_and_leaves_nothing(bench: Bench) -> None:
    logins = bench.process()
    login, step = await bench.show_qr(logins)
    # Polls do not keep it alive; only a person does.
    for _ in range(10):
        bench.clock.advance(LIFE.total_seconds() / 10 - 1)
        await logins.go_on(login.id)
    bench.clock.advance(11)
    with pytest.raises(NotFound, match="Start it again"):
        await logins.go_on(login.id)
    bench.world.scanned_codes.add(shown_text(step))
    async with bench.database.transaction() as tx:
        await delete_expired_logins(tx, now=bench.clock.now())
    assert await bench.rows("select id from account_login") == []
    assert await bench.rows("select owner from secret") == []


async def test_what_was_sealed_for_a_login_goes_also_when_its_account_was_removed(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    await logins.go_on(login.id, LoginReply({"code": CODE}))
    (account,) = await _accounts(bench)
    kept = await logins.begin(LoginWish("simulated", account=account))
    await bench.rows("delete from account returning id")
    with pytest.raises(NotFound):
        await logins.get(kept.id)
    async with bench.database.transaction() as tx:
        await delete_expired_logins(tx, now=bench.clock.now())
    assert [row for row in await bench.rows("select owner from secret") if "login:" in row["owner"]] == []


async def test_a_taken_name_is_refused_before_anybody_signs_in(bench: Bench) -> None:
    logins = bench.process()
    login = await logins.begin(LoginWish("simulated", "reader"))
    await logins.go_on(login.id, LoginReply({"code": CODE}))
    asked = len(bench.platform.attempts)
    with pytest.raises(UserError, match="already an account"):
        await logins.begin(LoginWish("simulated", "reader"))
    assert len(bench.platform.attempts) == asked


async def test_nothing_of_a_login_shows_in_its_repr() -> None:
    step = Waiting("Scan", state=SECRET)
    attempt = LoginAttempt(answers={"password": SECRET}, secrets={"session": SECRET}, state=SECRET)
    shown = (step, attempt, Ask((Question("code", "Code"),), state=SECRET), LoginReply({"code": SECRET}))
    assert SECRET not in repr(shown)
    assert SECRET not in repr(replace(step, prompt="Again"))


async def _accounts(bench: Bench) -> list[Any]:
    async with bench.database.transaction() as tx:
        return await list_accounts(tx)


def test_the_claim_outlives_the_longest_step() -> None:
    assert timedelta(seconds=STEP_S) < CLAIM < LIFE
