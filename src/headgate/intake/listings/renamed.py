"""Entries that come back under other keys: recognised before they are taken for new ones."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.domain.listings.entry_identity import NamedEntry, identity_of, match_renamed
from headgate.domain.text import MAX_TITLE_LENGTH, storable
from headgate.intake.listings.entries import Fingerprinted, entry_identity
from headgate.storage.database import Tx
from headgate.storage.listings.entry_keys import Namesake, list_namesakes


async def find_renamed(tx: Tx, marked: Fingerprinted, changed: Sequence[int]) -> dict[str, str]:
    """Return the old keys of entries that are known under another one; most answers cost nothing."""
    answered = marked.answered
    if not answered.loose_keys or answered.first_look or not changed:
        return {}
    listed = [NamedEntry(one.key, entry_identity(one), one.published_at) for one in marked.entries]
    known = await list_namesakes(
        tx,
        answered.channel_id,
        keys=[one.key for one in listed],
        titles=[storable(one.title)[:MAX_TITLE_LENGTH] for one in marked.entries],
        identities=[one.identity for one in listed if one.identity],
    )
    return match_renamed(listed, [_named(one) for one in known])


def _named(one: Namesake) -> NamedEntry:
    identity = one.identity if one.is_release else identity_of(one.title, one.url)
    return NamedEntry(one.key, identity, one.published_at)
