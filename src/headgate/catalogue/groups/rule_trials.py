"""Trying a rule before it is switched on: which groups it would make of what is there. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from headgate.domain.library.group_rules import GroupRule
from headgate.kernel.clock import Clock
from headgate.storage.database import Tx
from headgate.storage.groups import rule_trials
from headgate.storage.groups.rule_trials import FreeItem
from headgate.storage.shelf.rule_groups import ActiveRule, describe_chains, list_roots, list_titled

MAX_TRIED = 2000
"""Items that a page or program waits for; a command may ask for more."""
MAX_EXAMPLES = 20
MAX_TITLES = 5
_BATCH = 500
_NO_RULE = UUID(int=0)

Key = tuple[UUID, str]
"""A channel, and what its items share."""


@dataclass(frozen=True)
class TriedGroup:
    """A group that a rule would make."""

    name: str
    channel: str
    items: int
    titles: tuple[str, ...]
    """Of its first items."""


@dataclass(frozen=True)
class GroupTrial:
    """What a rule would do with the newest items that are in no group."""

    tried: int
    has_older: bool
    """There are older items, which were not tried."""
    groups: int
    items: int
    """That would be in groups."""
    examples: tuple[TriedGroup, ...]
    """The largest first."""


@dataclass
class _Tally:
    rule: GroupRule
    members: dict[Key, dict[UUID, FreeItem]]
    names: dict[Key, str]


async def try_rule(tx: Tx, rule: GroupRule, *, limit: int = MAX_TRIED, clock: Clock) -> GroupTrial:
    """Say which groups a rule would make of the newest items, without making them."""
    tally = _Tally(rule, {}, {})
    after: FreeItem | None = None
    tried = 0
    more = True
    while more and tried < limit:
        size = min(_BATCH, limit - tried)
        page = await rule_trials.list_newest_free(tx, below=after, limit=size + 1)
        more, page = len(page) > size, page[:size]
        if not page:
            break
        await _look(tx, tally, page)
        tried += len(page)
        after = page[-1]
        await clock.sleep(0)
    return await _result(tx, tally, tried=tried, has_older=more)


async def _look(tx: Tx, tally: _Tally, page: Sequence[FreeItem]) -> None:
    by_id = {item.id: item for item in page}
    if tally.rule.kind == "replies":
        for one in await list_roots(tx, list(by_id)):
            tally.members.setdefault((one.channel_id, one.root), {})[one.item_id] = by_id[one.item_id]
        return
    rule = ActiveRule(_NO_RULE, "title", tally.rule.pattern)
    for found in await list_titled(tx, [rule], list(by_id)):
        key = (found.channel_id, found.source_key)
        tally.members.setdefault(key, {})[found.item_id] = by_id[found.item_id]
        tally.names[key] = found.name


async def _result(tx: Tx, tally: _Tally, *, tried: int, has_older: bool) -> GroupTrial:
    made = {key: list(items.values()) for key, items in tally.members.items() if len(items) > 1}
    largest = sorted(made, key=lambda key: (-len(made[key]), key))[:MAX_EXAMPLES]
    if tally.rule.kind == "replies" and largest:
        tally.names |= await describe_chains(tx, largest)
    return GroupTrial(
        tried=tried,
        has_older=has_older,
        groups=len(made),
        items=len({item.id for items in made.values() for item in items}),
        examples=tuple(
            TriedGroup(
                tally.names[key],
                made[key][0].channel_title,
                len(made[key]),
                tuple(item.title for item in made[key][:MAX_TITLES]),
            )
            for key in largest
        ),
    )
