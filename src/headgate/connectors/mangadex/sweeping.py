"""A sweep: what has changed on the whole site, in the order of the changes.

A page goes on from the time of the last change that was told, not from a count: a chapter that changes again
while the pages are told moves to the end, and a count would leave out one of those that close up behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from headgate.connectors.mangadex.http import Api, ApiAnswer, Params
from headgate.connectors.mangadex.listing import ALL_RATINGS, WINDOW, WITH_GROUPS
from headgate.connectors.mangadex.shapes import ApiChapter, BadChapter, chapters_of, collection_of, time_of
from headgate.domain.listings.listings import BadEntry, Entry, Swept

_PAGE = 100
_OVERLAP = timedelta(seconds=60)
"""The site's search lags behind: so much is told again each time."""
_STEP_BACK = 10
"""Of the pages within one second: so many chapters may move away from it while they are told."""
_MAX_HELD = 500
_HELD_FOR_LONG = timedelta(days=60)
"""What is held back for longer is found by the look at its own listing."""


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is: what the cursor carries."""

    since: datetime
    offset: int = 0
    """Only where more chapters than a page has changed in the second of `since`."""
    held: tuple[tuple[datetime, str], ...] = ()
    """Chapters that cannot be read yet, with the time from which they can: no change will tell it."""

    @classmethod
    def of(cls, cursor: Mapping[str, str]) -> SweepProgress:
        words = (word.partition("@") for word in cursor.get("held", "").split())
        return cls(
            time_of(cursor["since"]),
            int(cursor.get("offset", "0")),
            tuple((time_of(at), key) for key, _, at in words),
        )

    def cursor(self) -> dict[str, str]:
        words = {
            "since": _written(self.since),
            "offset": str(self.offset) if self.offset else "",
            "held": " ".join(f"{key}@{_written(at)}" for at, key in self.held),
        }
        return {name: word for name, word in words.items() if word}

    def ripe(self, now: datetime) -> tuple[str, ...]:
        """Return the chapters that can be read by now, as many as fit a call."""
        return tuple(key for at, key in self.held if at <= now)[:_PAGE]


async def sweep_part(api: Api, cursor: Mapping[str, str], *, site: str, now: datetime) -> Swept:
    """Ask for the next part of a sweep, in one call."""
    if "since" not in cursor:
        return await _begin(api, now=now)
    progress = SweepProgress.of(cursor)
    if ripe := progress.ripe(now):
        return await _ripe_answer(api, progress, ripe, site=site, now=now)
    asked = (
        ("limit", str(_PAGE)),
        ("offset", str(progress.offset)),
        ("order[updatedAt]", "asc"),
        ("updatedAtSince", _written(progress.since)),
    )
    answer = await api.get("/chapter", _params(asked))
    page, now = collection_of(answer.content), answer.latest(now)
    chapters = tuple(chapters_of(page.rows, site=site))
    newest = max((one.updated_at for one in chapters if isinstance(one, ApiChapter)), default=None)
    reached = progress.offset + len(page.rows)
    held = _hold(progress.held, chapters, now=now)
    following, gap = replace(progress, held=held), False
    more = bool(page.rows) and reached < page.total
    if more:
        following, gap = _go_on(following, newest=newest or progress.since, reached=reached)
    else:
        since = progress.since if newest is None else newest - _OVERLAP
        following = replace(following, since=since, offset=0)
    return Swept(
        _by_listing(chapters, now=now), following.cursor(), more=more, gap=gap, bad=_bad_by_listing(chapters)
    )


def _go_on(progress: SweepProgress, *, newest: datetime, reached: int) -> tuple[SweepProgress, bool]:
    """Return where the next page begins, and whether something cannot be told."""
    moment = newest.replace(microsecond=0)
    if moment > progress.since:
        return replace(progress, since=moment, offset=0), False
    offset = max(reached - _STEP_BACK, progress.offset + 1)
    if offset + _PAGE <= WINDOW:
        return replace(progress, offset=offset), False
    return replace(progress, since=progress.since + timedelta(seconds=1), offset=0), True


async def _begin(api: Api, *, now: datetime) -> Swept:
    """Begin at the server's own time: changes are written by its clock, not by ours."""
    asked = (("limit", "1"), ("order[updatedAt]", "desc"))
    answer = await api.get("/chapter", _params(asked))
    return Swept({}, SweepProgress((_server_now(answer) or now) - _OVERLAP).cursor())


def _server_now(answer: ApiAnswer) -> datetime | None:
    if answer.at is not None:
        return answer.at
    chapters = chapters_of(collection_of(answer.content).rows, site="")
    return max((one.updated_at for one in chapters if isinstance(one, ApiChapter)), default=None)


async def _ripe_answer(
    api: Api, progress: SweepProgress, ripe: Sequence[str], *, site: str, now: datetime
) -> Swept:
    """Tell the chapters whose time has come; the sweep itself goes on with the next call."""
    asked = (("limit", str(_PAGE)), *(("ids[]", key) for key in ripe))
    answer = await api.get("/chapter", _params(asked))
    page, now = collection_of(answer.content), answer.latest(now)
    chapters = tuple(chapters_of(page.rows, site=site))
    left = tuple((at, key) for at, key in progress.held if key not in ripe)
    following = replace(progress, held=_hold(left, chapters, now=now))
    return Swept(_by_listing(chapters, now=now), following.cursor(), more=True, bad=_bad_by_listing(chapters))


def _params(asked: Params) -> Params:
    return (*asked, *ALL_RATINGS, *WITH_GROUPS)


def _hold(
    held: Iterable[tuple[datetime, str]], chapters: Iterable[ApiChapter | BadChapter], *, now: datetime
) -> tuple[tuple[datetime, str], ...]:
    """Return what is held back after a page: the soonest, as many as a cursor can carry."""
    times = {key: at for at, key in held}
    for one in chapters:
        if not isinstance(one, ApiChapter):
            continue
        times.pop(one.entry.key, None)
        if one.available and one.readable_at is not None and now < one.readable_at < now + _HELD_FOR_LONG:
            times[one.entry.key] = one.readable_at
    return tuple(sorted((at, key) for key, at in times.items())[:_MAX_HELD])


def _by_listing(
    chapters: Iterable[ApiChapter | BadChapter], *, now: datetime
) -> dict[str, tuple[Entry, ...]]:
    found: dict[str, tuple[Entry, ...]] = {}
    for one in chapters:
        if isinstance(one, ApiChapter) and one.is_readable(now):
            found[one.manga] = (*found.get(one.manga, ()), one.entry)
    return found


def _bad_by_listing(chapters: Iterable[ApiChapter | BadChapter]) -> dict[str, tuple[BadEntry, ...]]:
    found: dict[str, tuple[BadEntry, ...]] = {}
    for one in chapters:
        if isinstance(one, BadChapter):
            found[one.manga] = (*found.get(one.manga, ()), one.bad)
    return found


def _written(at: datetime) -> str:
    """Write a time as the API takes it: in UTC, to the second, without an offset."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
