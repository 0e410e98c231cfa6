"""Dead letters: replayed once, discarded once, kept, and one open letter for each piece of work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from lab import Flawed, Lab, fail

from headgate.domain.errors import Gone, UserError
from headgate.jobs.execution import REST
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind, Kinds, Wake
from headgate.jobs.letters import discard, prune, replay
from headgate.jobs.wake import enqueue
from headgate.kernel.clock import VirtualClock
from headgate.storage.database import Tx
from headgate.storage.jobs.dead_letters import (
    DeadLetter,
    bury,
    get_dead_letter,
    keep_dead_letter,
    list_dead_letters,
    prune_dead_letters,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Diary:
    """Work rows that only note what is asked of them."""

    def __init__(self) -> None:
        self.reopened: list[tuple[int, datetime]] = []
        self.postponed: list[tuple[int, datetime]] = []

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return []

    async def postpone(self, tx: Tx, key: int, *, until: datetime, now: datetime) -> None:
        self.postponed.append((key, until))

    async def reopen(self, tx: Tx, key: int, *, now: datetime) -> None:
        self.reopened.append((key, now))


@dataclass
class Case:
    """An open letter of the kind `count`, and what is around it."""

    lab: Lab
    diary: Diary
    kinds: Kinds
    letter_id: UUID

    async def state(self) -> str:
        async with self.lab.database.transaction() as tx:
            letter = await get_dead_letter(tx, self.letter_id)
        assert letter is not None
        return letter.state

    async def replay(self) -> DeadLetter:
        async with self.lab.database.transaction() as tx:
            return await replay(tx, self.kinds, self.letter_id, now=NOW)

    async def discard(self) -> DeadLetter:
        async with self.lab.database.transaction() as tx:
            return await discard(tx, self.letter_id, now=NOW)


def letter(
    *, kind: str = "count", key: str = "7", died_at: datetime = NOW, message: str = "it broke"
) -> DeadLetter:
    return DeadLetter(
        id=uuid4(),
        kind=kind,
        key=key,
        error_class="Transient",
        message=message,
        stack="",
        attempts=3,
        crashes=0,
        first_tried_at=died_at,
        died_at=died_at,
    )


@pytest.fixture
async def case(lab: Lab) -> Case:
    async def count(job: Job[int]) -> None:
        return

    diary = Diary()
    buried = letter()
    async with lab.database.transaction() as tx:
        await bury(tx, buried)
    return Case(lab, diary, Kinds([Kind("count", int, count, rows=diary, priority=4)]), buried.id)


async def test_replay_makes_the_work_due_and_wakes_it(case: Case) -> None:
    replayed = await case.replay()
    assert replayed.id == case.letter_id
    assert case.diary.reopened == [(7, NOW)]
    assert [(row.status, row.priority) for row in await case.lab.rows()] == [("queued", 4)]
    assert await case.state() == "replayed"


async def test_a_replay_does_not_wait_for_the_delay_of_a_job_that_is_queued_already(case: Case) -> None:
    async with case.lab.database.transaction() as tx:
        await enqueue(tx, [Wake("count", "7")])
        await tx.raw("update pgqueuer set execute_after = now() + interval '1 hour'")
    await case.replay()
    (row,) = await case.lab.rows()
    assert row.delay_s <= 0


async def test_a_replay_happens_whole_or_not_at_all(case: Case) -> None:
    with pytest.raises(ZeroDivisionError):
        async with case.lab.database.transaction() as tx:
            await replay(tx, case.kinds, case.letter_id, now=NOW)
            raise ZeroDivisionError
    assert await case.lab.rows() == []
    assert await case.state() == "open"


async def test_a_discarded_letter_wakes_nothing(case: Case) -> None:
    await case.discard()
    assert (await case.lab.rows(), case.diary.reopened) == ([], [])
    assert await case.state() == "discarded"


async def test_work_that_gave_up_is_due_again_whether_or_not_its_letter_is_discarded(case: Case) -> None:
    async def break_down(job: Job[int]) -> None:
        raise Gone("it is not there")

    case.lab.clock = VirtualClock(NOW)
    await case.lab.enqueue(Wake("count", "7"))
    execution = case.lab.execution(Kind("count", int, break_down, rows=case.diary))
    await execution.run(await case.lab.pick("count", "7"))
    await case.discard()
    assert case.diary.postponed == [(7, NOW + REST)]


async def test_a_letter_is_closed_once(case: Case) -> None:
    await case.discard()
    with pytest.raises(UserError, match="was already discarded"):
        await case.replay()
    with pytest.raises(UserError, match="was already discarded"):
        await case.discard()
    assert await case.lab.rows() == []


async def test_of_two_people_at_once_one_closes_the_letter(case: Case) -> None:
    database = case.lab.database
    async with database.transaction() as first:
        assert (await get_dead_letter(first, case.letter_id)) is not None
        await case.discard()
        with pytest.raises(UserError, match="was already discarded"):
            await replay(first, case.kinds, case.letter_id, now=NOW)
    assert await case.lab.rows() == []
    assert await case.state() == "discarded"


async def test_a_letter_that_is_not_there_is_named(case: Case) -> None:
    case.letter_id = uuid4()
    with pytest.raises(UserError, match=f"There is no failed job {case.letter_id}"):
        await case.replay()


@pytest.mark.parametrize(
    ("kind", "key", "sentence"),
    [("gone", "7", "This installation cannot run"), ("count", "seven", "'seven' is not a key")],
)
async def test_what_cannot_be_carried_out_stays_open(case: Case, kind: str, key: str, sentence: str) -> None:
    hopeless = letter(kind=kind, key=key)
    async with case.lab.database.transaction() as tx:
        await bury(tx, hopeless)
    case.letter_id = hopeless.id
    with pytest.raises(UserError, match=sentence):
        await case.replay()
    assert await case.state() == "open"


async def test_a_second_death_renews_the_open_letter(case: Case) -> None:
    later = NOW + timedelta(hours=1)
    async with case.lab.database.transaction() as tx:
        await keep_dead_letter(tx, case.letter_id, kept=True)
        await bury(tx, letter(died_at=later, message="it broke again"))
        (renewed,) = await list_dead_letters(tx)
    assert (renewed.id, renewed.kept) == (case.letter_id, True)
    assert (renewed.message, renewed.died_at, renewed.first_tried_at) == ("it broke again", later, NOW)


async def test_a_death_after_a_replay_is_a_new_letter(case: Case) -> None:
    await case.replay()
    picked = await case.lab.pick("count", "7", attempts=2)

    async def fail_again(job: Job[int]) -> None:
        raise Flawed("still broken")

    await case.lab.execution(Kind("count", int, fail_again)).run(picked)
    async with case.lab.database.transaction() as tx:
        letters = await list_dead_letters(tx, state=None)
    assert sorted(one.state for one in letters) == ["open", "replayed"]


async def test_a_letter_opens_even_while_its_key_is_queued_again(lab: Lab) -> None:
    await lab.enqueue(Wake("fail", "a"))
    picked = await lab.pick("fail", "a", attempts=2)
    await lab.execution(Kind("fail", str, fail)).run(picked)
    assert await lab.enqueue(Wake("fail", "a")) == 1
    async with lab.database.transaction() as tx:
        assert [one.key for one in await list_dead_letters(tx)] == ["a"]


async def test_a_kept_letter_survives_pruning(case: Case) -> None:
    async with case.lab.database.transaction() as tx:
        await bury(tx, letter(key="8"))
        await keep_dead_letter(tx, case.letter_id, kept=True)
        await prune(tx, case.kinds, keep=0, before=NOW + timedelta(days=1), now=NOW)
        assert [one.id for one in await list_dead_letters(tx)] == [case.letter_id]
        await keep_dead_letter(tx, case.letter_id, kept=False)
        await prune(tx, case.kinds, keep=0, before=NOW, now=NOW)
        assert await list_dead_letters(tx) == []


async def test_work_whose_open_letter_is_pruned_is_tried_again(case: Case) -> None:
    async with case.lab.database.transaction() as tx:
        closed = letter(key="8")
        await bury(tx, closed)
        await discard(tx, closed.id, now=NOW)
        await bury(tx, letter(kind="gone"))
        await bury(tx, letter(key="seven"))
        await prune(tx, case.kinds, keep=0, before=NOW, now=NOW)
        assert await list_dead_letters(tx, state=None) == []
    assert case.diary.reopened == [(7, NOW)], "a discarded one is not, nor what nobody can carry out"
    assert [row.status for row in await case.lab.rows()] == ["queued"]


async def test_only_some_open_letters_are_pruned_at_once(case: Case) -> None:
    async with case.lab.database.transaction() as tx:
        await bury(tx, letter(key="8", died_at=NOW - timedelta(hours=1)))
        parked = await prune_dead_letters(tx, keep=0, before=NOW, most_open=1)
        assert [work.key for work in parked] == ["8"], "the oldest goes first"
        assert [one.id for one in await list_dead_letters(tx)] == [case.letter_id]
