"""Telling users of what they follow: what is new, once, in their languages, and nothing of the past."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from notification_bench import START, Entry, NewsBench

from headgate.outflow.notifications import follows
from headgate.outflow.notifications.notify import BATCH, create_notifications
from headgate.storage.notifications.follows import Switches

LONG_AGO = START - timedelta(days=400)


async def test_following_a_series_of_500_chapters_tells_nothing_of_the_past(
    telling: NewsBench,
) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    past = [Entry(str(number), published_at=LONG_AGO + timedelta(hours=number)) for number in range(1, 501)]
    await telling.publish(series, source, *past, first_poll=True)
    await telling.work()
    assert await telling.told() == []
    telling.clock.advance(60)
    await telling.publish(series, source, "501")
    await telling.work()
    assert await telling.told() == ["Chapter 501 · Asura"]


async def test_a_notification_says_what_is_new_and_where(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, Entry("45.5", title="The Gate", volume="2", group="Night Owls"))
    await telling.work()
    (chapter,) = await telling.values("select id from chapter")
    assert await telling.rows(
        "select subject, title, body, url, at, in_app, push, read_at, series_id, channel_id from notification"
    ) == [
        {
            "subject": f"chapter:{chapter}",
            "title": "Solo Leveling",
            "body": "Chapter 45.5: The Gate · Vol. 2 · Night Owls",
            "url": "https://a.example/45.5",
            "at": telling.now,
            "in_app": True,
            "push": True,
            "read_at": None,
            "series_id": series,
            "channel_id": source,
        }
    ]
    assert await telling.values("select count(*) from news") == [0]


async def test_several_at_once_are_told_in_the_order_of_the_chapters(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, "10", "9", "11", "9.5")
    await telling.work()
    assert [body.split(" · ")[0] for body in await telling.told()] == [
        "Chapter 9",
        "Chapter 9.5",
        "Chapter 10",
        "Chapter 11",
    ]


@pytest.mark.parametrize(("per", "times"), [("chapter", 1), ("source", 2)])
async def test_a_chapter_of_two_sources_is_told_once_or_per_source_if_asked(
    telling: NewsBench, per: str, times: int
) -> None:
    user, series = await telling.user(), await telling.series()
    first, second = await telling.source("Asura"), await telling.source("Flame")
    await telling.follow(user, series, per=per)
    await telling.publish(series, first, "45")
    await telling.work()
    await telling.publish(series, second, "45")
    await telling.work()
    assert await telling.told() == ["Chapter 45 · Asura", "Chapter 45 · Flame"][:times]


async def test_an_event_of_a_source_and_a_number_happens_once(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series, per="source")
    await telling.publish(series, source, Entry("45", group="Owls"), Entry("45", language="fr"))
    await telling.work()
    await telling.publish(series, source, Entry("45", group="Ravens"))
    await telling.work()
    assert await telling.told() == ["Chapter 45 · Owls"]


async def test_a_re_poll_tells_nothing(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    for _ in range(3):
        await telling.publish(series, source, "45", "45.5")
        await telling.work()
    assert len(await telling.told()) == 2


async def test_several_follows_of_one_user_tell_once(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series, push=False)
    await telling.follow(user, source, in_app=False)
    await telling.follow(user, "solo")
    await telling.publish(series, source, "45")
    await telling.work()
    assert await telling.rows("select in_app, push from notification") == [{"in_app": True, "push": True}]


async def test_one_follow_per_source_is_enough_to_be_told_per_source(telling: NewsBench) -> None:
    user, series = await telling.user(), await telling.series()
    first, second = await telling.source("Asura"), await telling.source("Flame")
    await telling.follow(user, series)
    await telling.follow(user, second, per="source")
    await telling.publish(series, first, "45")
    await telling.work()
    await telling.publish(series, second, "45")
    await telling.work()
    assert await telling.told() == ["Chapter 45 · Asura", "Chapter 45 · Flame"]


async def test_what_was_told_per_source_is_not_told_again_per_chapter(telling: NewsBench) -> None:
    user, series = await telling.user(), await telling.series()
    first, second = await telling.source("Asura"), await telling.source("Flame")
    follow_id = await telling.follow(user, series, per="source")
    await telling.publish(series, first, "45")
    await telling.work()
    await telling.do(lambda tx: follows.change(tx, follow_id, Switches(), user_id=user))
    await telling.publish(series, second, "45")
    await telling.work()
    assert await telling.told() == ["Chapter 45 · Asura"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ((), ["de", "pt-BR", ""]),
        (("pt",), ["pt-BR", ""]),
        (("PT-br", "de"), ["de", "pt-BR", ""]),
        (("p",), None),
        (("en",), [""]),
    ],
)
async def test_languages_are_those_of_the_follow(
    telling: NewsBench, wanted: tuple[str, ...], told: list[str] | None
) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    if told is None:
        with pytest.raises(follows.UserError, match="not a language"):
            await telling.follow(user, series, languages=wanted)
        return
    await telling.follow(user, series, languages=wanted)
    await telling.publish(
        series, source, Entry("1", language="de"), Entry("2", language="pt-BR"), Entry("3", language="")
    )
    await telling.work()
    numbers = {"de": "1", "pt-BR": "2", "": "3"}
    assert await telling.told() == [f"Chapter {numbers[language]} · Asura" for language in told]


@pytest.mark.parametrize(
    ("search", "matches"),
    [
        ("leveling", True),
        ("SOLO", True),
        ("level solo", True),
        ("solo gate", True),
        ("45", True),
        ("eveling", False),
        ("solo tower", False),
        (".*", None),
        ("so%", True),
        ("élan", False),
    ],
)
async def test_a_search_wants_all_its_words_to_begin_words_of_the_title(
    telling: NewsBench, search: str, matches: bool | None
) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    if matches is None:
        with pytest.raises(follows.UserError, match="needs a word"):
            await telling.follow(user, search)
        return
    await telling.follow(user, search)
    await telling.publish(series, source, Entry("45", title="The Gate"))
    await telling.work()
    assert bool(await telling.told()) is matches


async def test_words_are_compared_without_case_in_any_alphabet(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series("Ünö: ÉLAN!"), await telling.source()
    await telling.follow(user, "élan ünö")
    await telling.publish(series, source, "1")
    await telling.work()
    assert len(await telling.told()) == 1


async def test_what_was_published_before_the_follow_is_not_news(telling: NewsBench) -> None:
    series, source = await telling.series(), await telling.source()
    early, late = await telling.user("early"), await telling.user("late")
    await telling.follow(early, series)
    telling.clock.advance(3600)
    await telling.follow(late, series)
    at = telling.now - timedelta(minutes=30)
    await telling.publish(series, source, Entry("45", published_at=at))
    await telling.work()
    assert (len(await telling.told(early)), await telling.told(late)) == (1, [])


async def test_following_again_keeps_since_when(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    first = await telling.follow(user, series)
    telling.clock.advance(3600)
    assert await telling.follow(user, series, push=False) == first
    await telling.publish(series, source, Entry("45", published_at=START + timedelta(minutes=1)))
    await telling.work()
    assert await telling.values("select push from notification") == [False]


async def test_a_release_that_was_removed_meanwhile_is_not_told(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, "45")
    await telling.rows("update release set removed_at = $1", telling.now)
    await telling.work()
    assert (await telling.told(), await telling.values("select count(*) from news")) == ([], [0])


async def test_more_than_a_batch_is_told_by_successors(telling: NewsBench) -> None:
    users = [await telling.user(name) for name in ("ada", "bob")]
    series, source = await telling.series(), await telling.source()
    for user in users:
        await telling.follow(user, series)
    await telling.publish(series, source, *(str(number) for number in range(BATCH + 20)))
    assert await telling.work() == 2
    assert [len(await telling.told(user)) for user in users] == [BATCH + 20] * 2


async def test_news_without_a_job_is_found_by_the_tick(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, "45")
    await telling.rows("delete from pgqueuer")
    await telling.work()
    assert len(await telling.told()) == 1


async def test_nobody_is_told_of_what_others_follow(telling: NewsBench) -> None:
    ada, bob = await telling.user("ada"), await telling.user("bob")
    one, other, source = await telling.series(), await telling.series("Other"), await telling.source()
    await telling.follow(ada, one)
    await telling.follow(bob, other)
    await telling.publish(one, source, "45")
    await telling.publish(other, source, Entry("7", key="other-7"))
    await telling.work()
    assert (await telling.told(ada), await telling.told(bob)) == (
        ["Chapter 45 · Asura"],
        ["Chapter 7 · Asura"],
    )


async def test_two_channels_that_tell_the_same_chapter_at_once_never_fail(telling: NewsBench) -> None:
    """Two hundred rounds: in each of them both have the same chapter to tell the same users."""
    rounds, followers = 200, 10
    series = await telling.series()
    sources = [await telling.source("Asura"), await telling.source("Flame")]
    for number in range(followers):
        await telling.follow(await telling.user(f"user {number}"), series)
    chapters = [str(number) for number in range(rounds)]
    for source in sources:
        await telling.publish(series, source, *chapters)

    async def tell(source: UUID) -> None:
        async with telling.database.transaction() as tx:
            await create_notifications(tx, source, limit=1, now=telling.now, push_at=telling.now)

    for _ in range(rounds):
        await asyncio.gather(*(tell(source) for source in sources))
    assert await telling.values("select count(*) from notification") == [rounds * followers]


async def test_two_channels_of_one_series_never_wait_for_each_other_in_a_circle(
    telling: NewsBench,
) -> None:
    """Whatever the order of their news, users and addresses are written in one order."""
    users: list[UUID] = []
    series = await telling.series()
    sources = [await telling.source("Asura"), await telling.source("Flame")]
    for number in range(20):
        users.append(await telling.user(f"user {number}"))
        await telling.follow(users[-1], series, per="source" if number % 2 else "chapter")
        await telling.address(users[-1])
    numbers = [str(number) for number in range(50)]
    await telling.publish(series, sources[0], *numbers)
    await telling.publish(series, sources[1], *reversed(numbers))
    async with telling.stepper() as one, telling.stepper() as other:
        jobs = [await one.claim(), await other.claim()]
        done = await asyncio.gather(
            *(stepper.execute(job) for stepper, job in zip((one, other), jobs, strict=True) if job)
        )
    assert [settlement.value for _, settlement in done] == ["sweep", "sweep"]
    counts = await telling.values("select count(*) from notification group by user_id order by user_id")
    assert sorted(counts) == [50] * 10 + [100] * 10
