"""Takes the entries of listings in: releases as one set with all that follows from them, posts as sightings.

What is known already is told apart before, by reading alone: an answer without news writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from uuid import UUID

from headgate.domain.errors import error_class
from headgate.domain.items import POST_TYPE
from headgate.domain.listings.entry_identity import NamedEntry, identity_of, match_renamed
from headgate.domain.listings.listings import BadEntry, Entry
from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.rules import ChannelRules
from headgate.domain.text import MAX_TITLE_LENGTH, storable
from headgate.intake.listings.entries import MAX_URL, Answered, Bad, News, entry_identity
from headgate.intake.streams.accept import NEVER_EDITED
from headgate.intake.streams.store_sightings import store_sightings
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.storage.catalogue.sightings import NewMessage, NewSighting, rename_posts
from headgate.storage.database import Tx
from headgate.storage.errors import Refused
from headgate.storage.events import Event, publish
from headgate.storage.listings import entry_keys, listings, releases
from headgate.storage.listings.entry_keys import Namesake, list_namesakes
from headgate.storage.listings.releases import NewRelease


@dataclass(frozen=True)
class Accepted:
    """What came of it."""

    news_rows: dict[UUID, int]
    """How much news each listing brought, of those whose releases changed."""
    refused: Sequence[Bad] = ()
    changed: frozenset[UUID] = frozenset()
    """The listings of which anything was new, different or gone."""


async def list_changed(tx: Tx, answers: Sequence[Answered]) -> list[list[int]]:
    """Return the places of those entries of each answer that are not known, or not so."""
    changed: list[list[int]] = [[] for _ in answers]
    whose = [number for number, answered in enumerate(answers) for _ in answered.entries]
    starts = [0, *accumulate(len(answered.entries) for answered in answers)]
    for place in await releases.list_changed(
        tx,
        [answered.channel_id for answered in answers],
        whose=whose,
        entry_keys=[entry.key for answered in answers for entry in answered.entries],
        fingerprints=[fingerprint for answered in answers for fingerprint in answered.fingerprints],
    ):
        changed[whose[place]].append(place - starts[whose[place]])
    return changed


async def find_news(tx: Tx, answers: Sequence[Answered], changed: Sequence[Sequence[int]]) -> News:
    """Tell what of some answers is new, given the places of changed entries; nothing is written.

    Of listings that were told whole, what they do not have any more is found too.
    """
    news = News(first_polls=frozenset(answered.channel_id for answered in answers if answered.first_poll))
    for answered, places in zip(answers, changed, strict=True):
        channel_id = answered.channel_id
        names = await _find_renamed(tx, answered, places)
        if names:
            news.renamed[channel_id] = names
        answered.sort((place for place in places if answered.entries[place].key not in names), into=news)
        news.bad.extend((channel_id, bad) for bad in answered.bad)
        if answered.complete:
            keys = [entry.key for entry in answered.entries]
            if gone := await releases.list_missing(tx, channel_id, keys):
                news.missing[channel_id] = gone
                news.notified_before[channel_id] = answered.notified_before
    return news


async def accept_news(
    tx: Tx, news: News, *, rules: Mapping[UUID, ChannelRules], ids: Ids, now: datetime
) -> Accepted:
    """Take in what is new with all that follows; of listings with posts only one at a time does so."""
    await listings.lock_listings(tx, [*news.posts, *news.renamed])
    for channel_id, names in news.renamed.items():
        await entry_keys.rename_entries(tx, channel_id, names, now=now)
    outcome = await _take(tx, news.releases, ids=ids, now=now)
    removed = {
        channel_id
        for channel_id, missing in news.missing.items()
        if await releases.mark_removed(
            tx, channel_id, missing, notified_before=news.notified_before[channel_id], now=now
        )
    }
    posted = {
        channel_id
        for channel_id, entries in sorted(news.posts.items())
        if await _take_posts(
            tx,
            channel_id,
            entries,
            marks=news.marks.get(channel_id, {}),
            rules=rules[channel_id],
            first_poll=channel_id in news.first_polls,
            ids=ids,
            now=now,
        )
    }
    # After that of ingesting, which posts may need: a running one holds its own wake-up, and then wants this.
    told = sorted(channel_id for channel_id, count in outcome.news_rows.items() if count)
    await enqueue(tx, [Wake("notify", str(channel_id)) for channel_id in told])
    await releases.note_bad_entries(tx, [*news.bad, *outcome.refused], ids=ids, now=now)
    released = removed.union(outcome.news_rows)
    if released:
        await publish(tx, Event("series"))
    return replace(outcome, changed=frozenset(released | posted))


async def _take(tx: Tx, listed: Sequence[NewRelease], *, ids: Ids, now: datetime) -> Accepted:
    """Take all; if the database refuses, each half, down to the entry that is to blame."""
    if not listed:
        return Accepted({})
    try:
        async with tx.attempt():
            return Accepted(await releases.take_releases(tx, listed, ids=ids, now=now))
    except Refused as error:
        if len(listed) == 1:
            release = listed[0]
            reason = f"{error_class(error)}: {error}"
            return Accepted({}, [(release.channel_id, BadEntry(release.entry_key, reason))])
    middle = len(listed) // 2
    first = await _take(tx, listed[:middle], ids=ids, now=now)
    second = await _take(tx, listed[middle:], ids=ids, now=now)
    news_rows = Counter(first.news_rows)
    news_rows.update(second.news_rows)
    return Accepted(news_rows, [*first.refused, *second.refused])


async def _take_posts(
    tx: Tx,
    channel_id: UUID,
    entries: Sequence[Entry],
    *,
    marks: Mapping[str, int],
    rules: ChannelRules,
    first_poll: bool,
    ids: Ids,
    now: datetime,
) -> bool:
    """Store entries that are no chapters as sightings of posts, with items of those kept."""
    undated = frozenset(entry.key for entry in entries if first_poll and entry.published_at is None)
    sightings = [
        _post(entry, rules=rules, ids=ids, now=now)._replace(mark=marks.get(entry.key)) for entry in entries
    ]
    new_kept = await store_sightings(
        tx,
        channel_id,
        sightings,
        messages=[_message(entry, now=now) for entry in entries],
        silent_keys=undated,
        ids=ids,
        now=now,
        seen_at=now,
    )
    if new_kept == len(sightings):
        # All are new, so none has another title than before.
        return True
    renamed = await rename_posts(tx, channel_id, [entry.key for entry in entries])
    return bool(new_kept or renamed)


def _post(entry: Entry, *, rules: ChannelRules, ids: Ids, now: datetime) -> NewSighting:
    candidate = Candidate(
        file_name=storable(entry.title)[:MAX_TITLE_LENGTH],
        mime_type=POST_TYPE,
        size_bytes=0,
        author=storable(entry.group)[:MAX_TITLE_LENGTH],
        from_bot=False,
        from_webhook=False,
        url=storable(entry.url)[:MAX_URL],
    )
    judged = rules.judge(candidate)
    return NewSighting(
        id=ids.new(),
        message_key=entry.key,
        attachment_key="entry",
        position=0,
        topic="",
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


def _message(entry: Entry, *, now: datetime) -> NewMessage:
    author = storable(entry.group)[:MAX_TITLE_LENGTH]
    return NewMessage(
        key=entry.key,
        position=0,
        topic="",
        album="",
        author_key=author,
        author=author,
        from_bot=False,
        from_webhook=False,
        text="",
        reply_to="",
        sent_at=entry.published_at or now,
        version_at=NEVER_EDITED,
    )


async def _find_renamed(tx: Tx, answered: Answered, changed: Sequence[int]) -> dict[str, str]:
    """Return the old keys of entries that are known under another one; most answers cost nothing."""
    if not answered.loose_keys or answered.first_poll or not changed:
        return {}
    listed = [NamedEntry(one.key, entry_identity(one), one.published_at) for one in answered.entries]
    known = await list_namesakes(
        tx,
        answered.channel_id,
        keys=[one.key for one in listed],
        titles=[storable(one.title)[:MAX_TITLE_LENGTH] for one in answered.entries],
        identities=[one.identity for one in listed if one.identity],
    )
    return match_renamed(listed, [_named_entry(one) for one in known])


def _named_entry(one: Namesake) -> NamedEntry:
    identity = one.identity if one.is_release else identity_of(one.title, one.url)
    return NamedEntry(one.key, identity, one.published_at)
