"""The judgement of listings: what the sites hold and the receiver took, beside what we have and told.

Every entry of the world is a release as it stands, what was withdrawn is known to be gone, every user was
told what they wanted, once, and every push arrived once or is in doubt, whatever outage there was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from headgate.domain.listings.chapters import canonical_number
from headgate.storage.database import Connection
from headgate.testing.receiver import RECEIVER

if TYPE_CHECKING:
    from headgate.testing.simulator.listings.play import ListingPlay

RELEASES = """
select c.key, r.entry_key, r.title, r.removed_at is not null
from release r join channel c on c.id = r.channel_id
"""
TOLD = """
select u.name, s.title, coalesce(h.number, ''), count(*) from notification n
join app_user u on u.id = n.user_id join series s on s.id = n.series_id
left join chapter h on h.id = n.chapter_id group by 1, 2, 3
"""
PUSHES = """
select coalesce(p.state, 'waiting'), a.user_id::text, coalesce(p.title, ''), coalesce(p.body, ''), count(*)
from push_notification w join push_address a on a.id = w.address_id left join push p on p.id = w.push_id
group by p.id, 1, 2, 3, 4
"""

UNNOTICED = "is gone, and nobody knows"
"""How a withdrawn entry is reported that is still listed."""


async def find_lost(play: ListingPlay, director: Connection) -> list[str]:
    """Compare the world with what we have: every entry is a release as it stands, and nothing else is."""
    rows = await (await director.execute(RELEASES)).fetchall()
    known = {(key, entry): title for key, entry, title, removed in rows if not removed}
    removed = {(key, entry) for key, entry, _, removed in rows if removed}
    real = {
        (key, entry.key): entry.title
        for key in play.script.sources
        for entry in play.world.listings[key].posted.values()
    }
    lost = [
        f"{place} is {known.get(place)!r}, not {title!r}"
        for place, title in real.items()
        if known.get(place) != title
    ]
    lost += [f"{place} is said to be gone, and is there" for place in removed & real.keys()]
    withdrawn = play.withdrawn if play.script.complete else set[tuple[str, str]]()
    lost += [f"{place} {UNNOTICED}" for place in known.keys() & withdrawn]
    return lost + [f"{place} was never published" for place in known.keys() - real.keys() - play.withdrawn]


async def find_untold(play: ListingPlay, director: Connection, since: datetime) -> list[str]:
    """Compare what users were told with what came since they follow, chapter by chapter."""
    rows = await (await director.execute(TOLD)).fetchall()
    told = Counter({(user, title, number): times for user, title, number, times in rows})
    wanted = Counter[tuple[str, str, str]]()
    for (title, number), sources in new_chapters(play, since).items():
        wanted["ada", title, number] = 1
        wanted["bob", title, number] = sources
    return [
        f"{what}: told {told[what]} times instead of {times}"
        for what, times in wanted.items()
        if told[what] != times
    ] + [f"{what} was told" for what in told.keys() - wanted.keys()]


def new_chapters(play: ListingPlay, since: datetime) -> Counter[tuple[str, str]]:
    """Return the chapters that came since a time, each with how many sources brought it."""
    return Counter(
        (f"Series {name}", canonical_number(entry.number))
        for key, name in play.script.sources.items()
        for entry in play.world.listings[key].posted.values()
        if entry.published_at is not None and entry.published_at >= since
    )


async def find_unpushed(play: ListingPlay, director: Connection) -> list[str]:
    """Compare what is believed of every push with what the receiver took."""
    rows = await (await director.execute(PUSHES)).fetchall()
    arrived = Counter(
        (one.url.removeprefix(f"{RECEIVER}://"), one.title, one.body) for one in play.ensemble.receiver.taken
    )
    return [failure for row in rows for failure in _judge_push(play, arrived, *row)]


def _judge_push(
    play: ListingPlay,
    arrived: Counter[tuple[str, str, str]],
    state: str,
    user: str,
    title: str,
    body: str,
    many: int,
) -> Iterator[str]:
    times = arrived[user, title, body]
    if state == "sent" and times != 1:
        yield f"a push of {many} is believed to be sent, and arrived {times} times: {title}"
    elif state == "uncertain" and times > 1:
        yield f"a push of {many} arrived {times} times: {title}"
    elif state in {"failed", "waiting", "planned", "sending"}:
        yield f"a push of {many} is {state} after the receiver came back"
    if state == "uncertain" and not play.may_doubt:
        yield f"a push of {many} is in doubt, though every answer came"
