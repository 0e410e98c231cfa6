"""Questions that are put together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from headgate.storage.gathering import AT_ONCE, MAX, Gatherer


class Oracle:
    """Doubles numbers; each answer takes a turn of the loop. It cannot bear some numbers."""

    def __init__(self, *, bad: frozenset[int] = frozenset()) -> None:
        self.bad = bad
        self.asked: list[list[int]] = []

    async def put(self, numbers: Sequence[int]) -> list[int]:
        self.asked.append(list(numbers))
        await asyncio.sleep(0)
        if self.bad.intersection(numbers):
            raise ValueError("not that number")
        return [number * 2 for number in numbers]


async def test_questions_of_one_moment_are_put_together_and_each_gets_its_own_reply() -> None:
    oracle = Oracle()
    gatherer = Gatherer(oracle.put)
    numbers = list(range(2 * MAX))
    replies = await asyncio.gather(*(gatherer.ask(number) for number in numbers))
    assert replies == [number * 2 for number in numbers]
    assert len(oracle.asked) <= 2 + AT_ONCE


async def test_a_question_is_never_answered_by_what_was_asked_before_it() -> None:
    known = 1
    began, release = asyncio.Event(), asyncio.Event()

    async def put(questions: Sequence[str]) -> list[int]:
        seen = known
        began.set()
        await release.wait()
        return [seen for _ in questions]

    gatherer = Gatherer(put)
    first = asyncio.create_task(gatherer.ask("before"))
    await began.wait()
    known = 2
    second = asyncio.create_task(gatherer.ask("after"))
    await asyncio.sleep(0)
    release.set()
    assert (await first, await second) == (1, 2)


async def test_one_caller_s_error_is_not_another_s() -> None:
    oracle = Oracle(bad=frozenset({3}))
    gatherer = Gatherer(oracle.put)
    replies = await asyncio.gather(*(gatherer.ask(number) for number in range(6)), return_exceptions=True)
    assert [reply for reply in replies if isinstance(reply, int)] == [0, 2, 4, 8, 10]
    assert isinstance(replies[3], ValueError)


async def test_who_stops_waiting_does_not_keep_the_others_waiting() -> None:
    gatherer = Gatherer(Oracle().put)
    waiting = [asyncio.create_task(gatherer.ask(number)) for number in range(5)]
    await asyncio.sleep(0)
    waiting[2].cancel()
    replies = await asyncio.gather(*waiting, return_exceptions=True)
    assert [replies[n] for n in (0, 1, 3, 4)] == [0, 2, 6, 8]
    with pytest.raises(asyncio.CancelledError):
        await waiting[2]


async def test_a_question_that_nobody_waits_for_is_called_off_and_the_next_one_is_put() -> None:
    began, release, ended = asyncio.Event(), asyncio.Event(), False

    async def put(questions: Sequence[str]) -> list[str]:
        nonlocal ended
        if "first" not in questions:
            return list(questions)
        began.set()
        await release.wait()
        ended = True
        return list(questions)

    gatherer = Gatherer(put, at_once=1)
    first = asyncio.create_task(gatherer.ask("first"))
    await began.wait()
    second = asyncio.create_task(gatherer.ask("second"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "second"
    release.set()
    assert not ended
    assert await gatherer.ask("third") == "third"


async def test_a_question_goes_on_while_anybody_waits_for_it() -> None:
    release = asyncio.Event()

    async def put(questions: Sequence[int]) -> list[int]:
        await release.wait()
        return list(questions)

    gatherer = Gatherer(put, at_once=1)
    blocking = asyncio.create_task(gatherer.ask(0))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(gatherer.ask(number)) for number in (1, 2)]
    await asyncio.sleep(0)
    release.set()
    await blocking
    waiting[0].cancel()
    assert await waiting[1] == 2
