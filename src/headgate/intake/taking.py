"""Takes the entries of listings in: releases as one set with all that follows from them, posts as sightings.

What is known already is told apart before, by reading alone: an answer without news writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import error_class
from headgate.domain.filters import Candidate
from headgate.domain.items import POST_TYPE
from headgate.domain.listings import BadEntry, Entry
from headgate.domain.rules import ChannelRules
from headgate.domain.text import storable
from headgate.intake.accept import NEVER_EDITED
from headgate.intake.entries import LONGEST_TITLE, LONGEST_URL, Sorted
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.storage import releases
from headgate.storage.database import Refused, Tx
from headgate.storage.events import Event, publish
from headgate.storage.releases import NewRelease, Taken
from headgate.storage.sightings import NewSighting, rename_posts, upsert_sightings

Bad = tuple[UUID, BadEntry]


@dataclass(frozen=True)
class News:
    """What of some listings' entries is new or has changed."""

    releases: Sequence[NewRelease] = ()
    posts: Mapping[UUID, Sequence[Entry]] = field(default_factory=dict[UUID, Sequence[Entry]])
    bad: Sequence[Bad] = ()
    removed: Mapping[UUID, Sequence[str]] = field(default_factory=dict[UUID, Sequence[str]])


@dataclass(frozen=True)
class Outcome:
    """What came of it, by listing."""

    taken: Mapping[UUID, Taken]
    refused: Sequence[Bad] = ()
    changed: bool = False
    """Anything was new, different or gone."""


async def tell_news(tx: Tx, found: Mapping[UUID, Sorted], *, complete: frozenset[UUID] = frozenset()) -> News:
    """Tell what of sorted entries is not known yet; nothing is written.

    Of listings that were told whole, what they do not have any more is found too.
    """
    listed = [release for each in found.values() for release in each.releases]
    return News(
        releases=await releases.list_changed(tx, listed),
        posts={channel_id: each.posts for channel_id, each in found.items() if each.posts},
        bad=[(channel_id, bad) for channel_id, each in found.items() for bad in each.bad],
        removed={
            channel_id: missing
            for channel_id in sorted(complete)
            if (
                missing := await releases.list_missing(
                    tx, channel_id, [release.entry_key for release in found[channel_id].releases]
                )
            )
        },
    )


async def take_news(
    tx: Tx, news: News, *, rules: Mapping[UUID, ChannelRules], ids: Ids, now: datetime
) -> Outcome:
    """Take in what is new with all that follows.

    Wake-ups come before what is locked for them: they may wait for a running job, which may want the same.
    """
    channels = sorted({release.channel_id for release in news.releases})
    await enqueue(tx, [Wake("notify", str(channel_id)) for channel_id in channels])
    outcome = await _take(tx, news.releases, ids=ids, now=now)
    removed = [
        await releases.mark_removed(tx, channel_id, keys, now=now)
        for channel_id, keys in news.removed.items()
    ]
    posted = [
        await _take_posts(tx, channel_id, entries, rules=rules[channel_id], ids=ids, now=now)
        for channel_id, entries in news.posts.items()
    ]
    await releases.note_bad_entries(tx, [*news.bad, *outcome.refused], ids=ids, now=now)
    changed = bool(outcome.taken) or any(removed)
    if changed:
        await publish(tx, Event("series"))
    return replace(outcome, changed=changed or any(posted))


async def _take(tx: Tx, listed: Sequence[NewRelease], *, ids: Ids, now: datetime) -> Outcome:
    """Take all; if the database refuses, each half, down to the entry that is to blame."""
    try:
        async with tx.attempt():
            return Outcome(await releases.take_releases(tx, listed, ids=ids, now=now))
    except Refused as error:
        if len(listed) == 1:
            release = listed[0]
            reason = f"{error_class(error)}: {error}"
            return Outcome({}, [(release.channel_id, BadEntry(release.entry_key, reason))])
    middle = len(listed) // 2
    first = await _take(tx, listed[:middle], ids=ids, now=now)
    second = await _take(tx, listed[middle:], ids=ids, now=now)
    return Outcome({**first.taken, **second.taken}, [*first.refused, *second.refused])


async def _take_posts(
    tx: Tx, channel_id: UUID, entries: Sequence[Entry], *, rules: ChannelRules, ids: Ids, now: datetime
) -> bool:
    """Store entries that are no chapters as sightings of posts; ingesting makes items of those kept."""
    await enqueue(tx, [Wake("ingest", str(channel_id))])
    sightings = [_post(entry, rules=rules, ids=ids, now=now) for entry in entries]
    new_kept = await upsert_sightings(tx, channel_id, sightings, now=now, seen_at=now)
    renamed = await rename_posts(tx, channel_id, [sighting.message_key for sighting in sightings])
    return bool(new_kept or renamed)


def _post(entry: Entry, *, rules: ChannelRules, ids: Ids, now: datetime) -> NewSighting:
    candidate = Candidate(
        file_name=storable(entry.title)[:LONGEST_TITLE],
        mime_type=POST_TYPE,
        size_bytes=0,
        author=storable(entry.group)[:LONGEST_TITLE],
        from_bot=False,
        from_webhook=False,
        url=storable(entry.url)[:LONGEST_URL],
    )
    judged = rules.judge(candidate)
    return NewSighting(
        id=ids.new(),
        message_key=entry.key,
        attachment_key="entry",
        position=0,
        topic="",
        album="",
        author=candidate.author,
        from_bot=False,
        from_webhook=False,
        url=candidate.url,
        file_name=candidate.file_name,
        size_bytes=0,
        mime_type=POST_TYPE,
        content_id="",
        sent_at=entry.published_at or now,
        version_at=NEVER_EDITED,
        verdict=judged.verdict,
        settings_hash=judged.settings_hash,
    )
