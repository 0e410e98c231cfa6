"""Following: what a user wants to hear of, and how."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.text import check_languages
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.notifications import follows
from headgate.storage.notifications.follows import Follow, Subject, Switches

MAX_SEARCH = 200
MAX_FOLLOWS = 20_000
PERS = ("chapter", "source")


async def follow(
    tx: Tx, subject: Subject, switches: Switches | None = None, *, user_id: UUID, ids: Ids, now: datetime
) -> Follow:
    """Notify a user of what is new in a series, a channel or a search from now on.

    Following again changes the switches, if any are given. It keeps since when, so that nothing is
    notified twice or forgotten.
    """
    subject = await _checked_subject(tx, subject)
    known = await follows.find_follow(tx, user_id=user_id, subject=subject)
    if known is not None and switches is None:
        return known
    switches = checked_switches(switches or Switches())
    if known is None and await follows.count_follows(tx, user_id=user_id) >= MAX_FOLLOWS:
        raise UserError(
            f"You can follow at most {MAX_FOLLOWS:,} things.",
            remedy="Stop following some, or follow a search.",
        )
    follow_id = await follows.upsert_follow(
        tx, ids.new(), user_id=user_id, subject=subject, switches=switches, now=now
    )
    await _publish(tx, user_id)
    return await get(tx, follow_id, user_id=user_id)


async def change(tx: Tx, follow_id: UUID, switches: Switches, *, user_id: UUID) -> Follow:
    """Change how a user is notified of something."""
    if not await follows.update_follow(tx, follow_id, user_id=user_id, switches=checked_switches(switches)):
        raise _no_such_follow()
    await _publish(tx, user_id)
    return await get(tx, follow_id, user_id=user_id)


async def unfollow(tx: Tx, follow_id: UUID, *, user_id: UUID) -> None:
    """End a follow; its notifications stay in the list."""
    if not await follows.delete_follow(tx, follow_id, user_id=user_id):
        raise _no_such_follow()
    await _publish(tx, user_id)


async def unfollow_subject(tx: Tx, subject: Subject, *, user_id: UUID) -> Follow:
    """End a user's follow of exactly this series, channel or search, and return it."""
    known = await find(tx, subject, user_id=user_id)
    if known is None:
        raise _no_such_follow()
    await unfollow(tx, known.id, user_id=user_id)
    return known


async def get(tx: Tx, follow_id: UUID, *, user_id: UUID) -> Follow:
    found = await follows.get_follow(tx, follow_id, user_id=user_id)
    if found is None:
        raise _no_such_follow()
    return found


async def find(tx: Tx, subject: Subject, *, user_id: UUID) -> Follow | None:
    """Return the user's follow of exactly this series, channel or search."""
    if subject.search is not None:
        subject = replace(subject, search=await follows.words_of(tx, subject.search))
    return await follows.find_follow(tx, user_id=user_id, subject=subject)


async def list_all(tx: Tx, *, user_id: UUID) -> list[Follow]:
    return await follows.list_follows(tx, user_id=user_id)


def checked_switches(switches: Switches) -> Switches:
    """Return the switches as they are kept, or say what is wrong with them."""
    if switches.per not in PERS:
        raise UserError(
            f"Notifications cannot be sent per {switches.per!r}.",
            remedy="Choose once per chapter, or once per source.",
        )
    if not switches.in_app and not switches.push:
        raise UserError(
            "Without the list and without push there is nothing to notify.",
            remedy="Switch one of them on, or stop following.",
        )
    return replace(switches, languages=check_languages(switches.languages))


async def _publish(tx: Tx, user_id: UUID) -> None:
    await publish(tx, Event("follows", audience=user_id))


async def _checked_subject(tx: Tx, subject: Subject) -> Subject:
    given = [part for part in (subject.series_id, subject.channel_id, subject.search) if part is not None]
    if len(given) != 1:
        raise UserError(
            "Choose exactly one thing to follow.", remedy="Name one series, one channel or one search."
        )
    if subject.search is None:
        if not await follows.is_there(tx, subject):
            kind = "series" if subject.series_id else "channel"
            raise UserError(
                f"There is no such {kind}.", remedy="It may have been removed.", field=f"{kind}_id"
            )
        return subject
    if len(subject.search) > MAX_SEARCH or "\x00" in subject.search:
        raise UserError(f"A search has at most {MAX_SEARCH} characters.", remedy="Use fewer words.")
    words = await follows.words_of(tx, subject.search)
    if not words:
        raise UserError("A search needs a word.", remedy="Enter a word from the titles.")
    return Subject(search=words)


def _no_such_follow() -> NotFound:
    return NotFound("There is no such follow.", remedy="It may have been removed.")
