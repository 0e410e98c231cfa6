"""The list in the app, how far a user has read, and what is forgotten in time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from notification_bench import Entry, NewsBench

from headgate.domain.errors import UserError
from headgate.outflow.notifications import follows, inbox, reading
from headgate.outflow.notifications.inbox import change_settings
from headgate.storage.notifications import notifications
from headgate.storage.notifications.follows import Subject, Switches
from headgate.storage.notifications.notification_settings import NotificationSettings, get_settings
from headgate.storage.notifications.notifications import NEWEST, NotificationCursor


async def told_of(telling: NewsBench, *entries: Entry | str) -> tuple[UUID, UUID, UUID]:
    """Let a user who follows a series be told of chapters."""
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, *entries)
    await telling.work()
    return user, series, source


async def chapter(telling: NewsBench, number: str) -> UUID:
    (chapter_id,) = await telling.values("select id from chapter where number = $1", number)
    return chapter_id


async def unread(telling: NewsBench, user: UUID) -> str:
    return (await telling.do(lambda tx: inbox.count_unread(tx, user_id=user))).text


async def read(telling: NewsBench, user: UUID, number: str) -> None:
    chapter_id = await chapter(telling, number)
    await telling.do(lambda tx: reading.mark_read_up_to(tx, chapter_id, user_id=user, now=telling.now))


async def left(telling: NewsBench, user: UUID, *series: UUID) -> list[int]:
    counts = await telling.do(lambda tx: reading.count_unread(tx, series, user_id=user))
    return [counts[one] for one in series]


async def test_pages_hold_everything_once_newest_first(telling: NewsBench) -> None:
    user, _, _ = await told_of(telling, *(str(number) for number in range(1, 8)))
    seen: list[str] = []
    below = NEWEST
    while page := await telling.do(
        lambda tx, below=below: inbox.list_page(tx, user_id=user, below=below, limit=3)
    ):
        seen += [one.body for one in page]
        below = NotificationCursor(page[-1].at, page[-1].id)
    assert seen == [f"Chapter {number} · Asura" for number in range(7, 0, -1)]


async def test_the_count_of_unread_stops_at_99(telling: NewsBench) -> None:
    user, series, source = await told_of(telling, *(str(number) for number in range(99)))
    assert await unread(telling, user) == "99"
    await telling.publish(series, source, "100", "101")
    await telling.work()
    assert await unread(telling, user) == "99+"


async def test_one_or_all_are_read_but_not_what_came_after_the_page(telling: NewsBench) -> None:
    user, series, source = await told_of(telling, "1", "2", "3")
    page = await telling.do(lambda tx: inbox.list_page(tx, user_id=user))
    await telling.do(lambda tx: inbox.mark_read(tx, page[0].id, user_id=user, now=telling.now))
    assert await unread(telling, user) == "2"
    telling.clock.advance(1)
    seen_at = telling.now
    await telling.publish(series, source, "4")
    await telling.work()
    await telling.do(lambda tx: inbox.mark_all_read(tx, user_id=user, until=seen_at, now=telling.now))
    open_ones = await telling.do(lambda tx: inbox.list_page(tx, user_id=user, unread_only=True))
    assert [one.body for one in open_ones] == ["Chapter 4 · Asura"]


async def test_notifications_of_others_are_not_there(telling: NewsBench) -> None:
    ada, _, _ = await told_of(telling, "1")
    bob = await telling.user("bob")
    (one,) = await telling.do(lambda tx: inbox.list_page(tx, user_id=ada))
    with pytest.raises(UserError, match="no such notification"):
        await telling.do(lambda tx: inbox.mark_read(tx, one.id, user_id=bob, now=telling.now))
    assert await unread(telling, ada) == "1"


async def test_reading_up_to_a_chapter_reads_its_notifications_and_those_before(
    telling: NewsBench,
) -> None:
    user, series, _ = await told_of(telling, "1", "2", "3")
    await read(telling, user, "2")
    assert (await unread(telling, user), await left(telling, user, series)) == ("1", [1])
    # Who looks at an old chapter again has still read the newer ones.
    await read(telling, user, "1")
    assert await left(telling, user, series) == [1]


@pytest.mark.parametrize(("number", "count"), [("1", 3), ("2", 2), ("3", 1)])
async def test_marking_unread_from_a_chapter_goes_back_to_the_one_before(
    telling: NewsBench, number: str, count: int
) -> None:
    user, series, _ = await told_of(telling, "1", "2", "3")
    await read(telling, user, "3")
    assert await left(telling, user, series) == [0]
    chapter_id = await chapter(telling, number)
    await telling.do(lambda tx: reading.mark_unread_from(tx, chapter_id, user_id=user, now=telling.now))
    assert await left(telling, user, series) == [count]
    # Again it changes nothing, and neither does it for what is not read.
    last = await chapter(telling, "3")
    await telling.do(lambda tx: reading.mark_unread_from(tx, last, user_id=user, now=telling.now))
    assert await left(telling, user, series) == [count]


async def test_only_chapters_that_some_source_still_has_are_left_to_read(telling: NewsBench) -> None:
    user, series, source = await told_of(telling, "1", "2", Entry("2", group="Owls"), "3")
    other = await telling.series("Other")
    assert await left(telling, user, series, other) == [3, 0]
    await telling.rows("update release set removed_at = $1 where scan_group = ''", telling.now)
    assert await left(telling, user, series) == [1]
    await telling.publish(series, source, "3")
    assert await left(telling, user, series) == [2]


async def test_a_chapter_that_was_read_elsewhere_is_told_as_read_and_not_pushed(
    telling: NewsBench,
) -> None:
    user, series, source = await told_of(telling, "1", "9")
    await telling.address(user)
    await read(telling, user, "9")
    await telling.publish(series, source, "5")
    await telling.work()
    await telling.pass_time(60)
    assert (await unread(telling, user), telling.receiver.taken) == ("0", [])
    page = await telling.do(lambda tx: inbox.list_page(tx, user_id=user))
    assert page[0].body == "Chapter 5 · Asura"


async def test_a_chapter_that_is_gone_cannot_be_read(telling: NewsBench) -> None:
    user = await telling.user()
    with pytest.raises(UserError, match="no such chapter"):
        await telling.do(lambda tx: reading.mark_read_up_to(tx, user, user_id=user, now=telling.now))


async def test_what_was_read_long_ago_is_forgotten_and_never_told_again(telling: NewsBench) -> None:
    user, series, _ = await told_of(telling, "1", "2")
    await read(telling, user, "1")
    await telling.rows("delete from reading")
    telling.clock.advance(100 * 86400)
    before = telling.now - timedelta(days=90)
    await telling.do(lambda tx: notifications.prune(tx, before=before, limit=100))
    page = await telling.do(lambda tx: inbox.list_page(tx, user_id=user))
    assert [one.body for one in page] == ["Chapter 2 · Asura"]
    # Another source comes with both, long after.
    await telling.publish(series, await telling.source("Flame"), "1", "2")
    await telling.work()
    assert await telling.values("select count(*) from notification") == [2]
    assert sorted(await telling.values("select title from notification")) == ["", "Solo Leveling"]


async def test_follows_are_listed_changed_found_and_ended_by_their_owner_alone(
    telling: NewsBench,
) -> None:
    ada, bob = await telling.user("ada"), await telling.user("bob")
    series, source = await telling.series(), await telling.source()
    ids = [await telling.follow(ada, one) for one in (series, source, "  Some   WORDS! ")]
    listed = await telling.do(lambda tx: follows.list_all(tx, user_id=ada))
    assert [one.title for one in listed] == ["Asura", "Solo Leveling", "some words"]
    found = await telling.do(lambda tx: follows.find(tx, Subject(search="SOME words"), user_id=ada))
    assert found is not None
    assert found.id == ids[2]
    wanted = Switches(push=False, per="source", languages=("PT_br", "en", "pt-BR"))
    await telling.do(lambda tx: follows.change(tx, ids[0], wanted, user_id=ada))
    changed = await telling.do(lambda tx: follows.get(tx, ids[0], user_id=ada))
    assert changed.switches == Switches(push=False, per="source", languages=("pt-br", "en"))
    for attempt in (follows.unfollow, follows.get):
        with pytest.raises(UserError, match="no such follow"):
            await telling.do(lambda tx, attempt=attempt: attempt(tx, ids[0], user_id=bob))
    await telling.do(lambda tx: follows.unfollow(tx, ids[0], user_id=ada))
    assert len(await telling.do(lambda tx: follows.list_all(tx, user_id=ada))) == 2


@pytest.mark.parametrize(
    ("subject", "switches", "reason"),
    [
        (Subject(), Switches(), "exactly one"),
        (Subject(series_id=UUID(int=1), search="x"), Switches(), "exactly one"),
        (Subject(series_id=UUID(int=1)), Switches(), "no such series"),
        (Subject(channel_id=UUID(int=1)), Switches(), "no such channel"),
        (Subject(search="x" * 201), Switches(), "at most 200"),
        (Subject(search="  ?! "), Switches(), "needs a word"),
        (Subject(search="x"), Switches(in_app=False, push=False), "nothing to notify"),
        (Subject(search="x"), Switches(languages=("english language",)), "not a language"),
    ],
)
async def test_a_follow_that_makes_no_sense_is_refused(
    telling: NewsBench, subject: Subject, switches: Switches, reason: str
) -> None:
    user = await telling.user()
    with pytest.raises(UserError, match=reason):
        await telling.do(
            lambda tx: follows.follow(tx, subject, switches, user_id=user, ids=telling.ids, now=telling.now)
        )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (NotificationSettings("Mars/Olympus", None, None), "no time zone"),
        (NotificationSettings("UTC", 60, None), "a start and an end"),
        (NotificationSettings("UTC", 60, 1440), "between 00:00 and 23:59"),
        (NotificationSettings("UTC", 60, 60), "at the same time"),
    ],
)
async def test_quiet_hours_that_make_no_sense_are_refused(
    telling: NewsBench, settings: NotificationSettings, reason: str
) -> None:
    user = await telling.user()
    with pytest.raises(UserError, match=reason):
        await telling.do(lambda tx: change_settings(tx, settings, user_id=user, now=telling.now))
    assert await telling.do(lambda tx: get_settings(tx, user_id=user)) == NotificationSettings()
