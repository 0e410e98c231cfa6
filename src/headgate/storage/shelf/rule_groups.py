"""Groups that rules make: which items share what a rule looks for, and putting them together.

Part of writing the rows of a transaction (`refresh.py`), after albums: only items in no group join, and never
what a person has taken out of one. An item that its rule no longer finds leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.library.group_names import album_name
from headgate.domain.library.group_rules import MAX_MEMBERS, GroupRuleKind, find_shared, rule_group_id
from headgate.domain.library.name_keys import name_key
from headgate.storage.arrays import columns
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

MAX_SEEN = 20
"""Messages of an item whose chains count."""

Chain = tuple[UUID, str]
"""A channel, and the key of the first message."""


@dataclass(frozen=True)
class ActiveRule:
    """A rule that is on."""

    id: UUID
    kind: GroupRuleKind
    pattern: str


@dataclass(frozen=True)
class FoundGroup:
    """Items that belong together by a rule, the first posted first."""

    id: UUID
    rule_id: UUID
    channel_id: UUID
    source_key: str
    name: str
    item_ids: tuple[UUID, ...] = ()
    is_known: bool = False
    is_dissolved: bool = False
    is_chain: bool = False


@dataclass(frozen=True)
class RuleFinds:
    """What rules found about the items of a transaction."""

    groups: tuple[FoundGroup, ...] = ()
    """In the order of their rules."""
    busy_items: frozenset[UUID] = frozenset()
    """Items of groups that another transaction is putting together."""

    @property
    def item_ids(self) -> set[UUID]:
        return {item_id for group in self.groups for item_id in group.item_ids}


@dataclass(frozen=True)
class Strayed:
    """Items that their rule no longer finds in the group they are in."""

    left: Mapping[UUID, UUID] = field(default_factory=dict[UUID, UUID])
    """The groups that items have left."""
    busy_items: frozenset[UUID] = frozenset()
    """Items of groups that another transaction is putting together."""


class _Ruled(NamedTuple):
    item_id: UUID
    group_id: UUID


class _Titled(NamedTuple):
    item_id: UUID
    channel_id: UUID
    title: str
    creator: str


class _NewCandidate(NamedTuple):
    rule_id: UUID
    item_id: UUID
    channel_id: UUID
    source_key: str
    name: str

    @property
    def group_id(self) -> UUID:
        return rule_group_id(self.rule_id, self.channel_id, self.source_key)


class _Candidate(NamedTuple):
    group_id: UUID
    item_id: UUID
    name: str


class _InChain(NamedTuple):
    channel_id: UUID
    root: str
    item_id: UUID


@dataclass(frozen=True)
class _ChainGroup:
    channel_id: UUID
    root: str
    id: UUID
    dissolved: bool
    created_at: datetime


@dataclass(frozen=True)
class _ChainName:
    channel_id: UUID
    root: str
    caption: str
    first_title: str


@dataclass(frozen=True)
class _KnownGroup:
    id: UUID
    dissolved: bool


class _NewGroup(NamedTuple):
    id: UUID
    rule_id: UUID
    channel_id: UUID
    source_key: str
    name: str
    name_key: str
    created_at: datetime


@dataclass(frozen=True)
class _Joined:
    id: UUID
    group_id: UUID


async def list_active(tx: Tx) -> list[ActiveRule]:
    """Return the rules that are on, the oldest first."""
    return await tx.all(ActiveRule, Q["list_on"])


async def leave_strayed(tx: Tx, rules: Sequence[ActiveRule], item_ids: Collection[UUID]) -> Strayed:
    """Let locked items leave groups where their rule no longer finds them, unless a person shaped these."""
    by_title = [rule for rule in rules if rule.kind == "title"]
    if not by_title or not item_ids:
        return Strayed()
    ruled = await tx.all(
        _Ruled, Q["list_ruled"], item_ids=sorted(item_ids), rule_ids=[rule.id for rule in by_title]
    )
    found = await list_titled(tx, by_title, [one.item_id for one in ruled]) if ruled else []
    belongs = {(one.item_id, one.group_id) for one in found}
    strays = [one for one in ruled if (one.item_id, one.group_id) not in belongs]
    mine = await _try_locks(tx, {one.group_id for one in strays})
    leaving = {one.item_id: one.group_id for one in strays if one.group_id in mine}
    if leaving:
        await tx.execute(Q["leave"], item_ids=sorted(leaving))
    return Strayed(leaving, frozenset(one.item_id for one in strays if one.item_id not in leaving))


async def delete_empty(tx: Tx, group_ids: Collection[UUID]) -> None:
    """Delete locked groups that the last item has left; their rule makes them again if need be."""
    if group_ids:
        await tx.execute(Q["delete_empty"], ids=sorted(group_ids))


async def find_groups(tx: Tx, rules: Sequence[ActiveRule], item_ids: Collection[UUID]) -> RuleFinds:
    """Return the groups that locked items belong to by rules, with all who could join."""
    if not rules or not item_ids:
        return RuleFinds()
    titled = await _find_by_title(tx, [rule for rule in rules if rule.kind == "title"], item_ids)
    chained = [await _find_chains(tx, rule, item_ids) for rule in rules if rule.kind == "replies"]
    places = {rule.id: place for place, rule in enumerate(rules)}
    groups = [group for found in (titled, *chained) for group in found.groups]
    return RuleFinds(
        tuple(sorted(groups, key=lambda group: places[group.rule_id])),
        titled.busy_items.union(*(found.busy_items for found in chained)),
    )


async def join_found(
    tx: Tx, found: Sequence[FoundGroup], free: Mapping[UUID, datetime]
) -> tuple[set[UUID], dict[UUID, UUID]]:
    """Let free items, given with when each was caught, join what was found; a new group needs two of them.

    Returns the groups that were there already, and the groups of those that joined.
    """
    wanted: dict[UUID, UUID] = {}
    new: list[_NewGroup] = []
    for group in found:
        joining = [item for item in group.item_ids if item in free and item not in wanted][:MAX_MEMBERS]
        if group.is_dissolved or not joining or (not group.is_known and len(joining) == 1):
            continue
        wanted.update(dict.fromkeys(joining, group.id))
        if not group.is_known:
            made_of = (group.id, group.rule_id, group.channel_id, group.source_key)
            caught_at = max(free[item] for item in joining)
            new.append(_NewGroup(*made_of, group.name, name_key(group.name), caught_at))
    if new:
        await tx.execute(Q["insert_groups"], **columns(_NewGroup._fields, new))
    known = {group.id for group in found if group.is_known}
    if not wanted:
        return known, {}
    joined = await tx.all(_Joined, Q["join_groups"], item_ids=list(wanted), group_ids=list(wanted.values()))
    return known, {one.id: one.group_id for one in joined}


async def leave_full(tx: Tx, joined: Mapping[UUID, UUID]) -> None:
    """Let items that have just joined locked groups leave them again if they are full."""
    if joined:
        ids = {"item_ids": sorted(joined), "group_ids": sorted(set(joined.values()))}
        await tx.execute(Q["leave_full"], max_members=MAX_MEMBERS, **ids)


async def name_chains(tx: Tx, found: Iterable[FoundGroup]) -> None:
    """Let the names of groups follow their first messages, unless a person named them."""
    named = [group for group in found if group.is_chain and group.is_known and not group.is_dissolved]
    if named:
        await tx.execute(
            Q["name_groups"],
            id=[group.id for group in named],
            name=[group.name for group in named],
            name_key=[name_key(group.name) for group in named],
        )


async def list_titled(tx: Tx, rules: Sequence[ActiveRule], item_ids: Collection[UUID]) -> list[_NewCandidate]:
    """Return what rules by creator and title find in items; those without a creator share nothing."""
    return [
        _NewCandidate(rule.id, item.item_id, item.channel_id, f"{item.creator}\n{shared.key}", shared.name)
        for item in await tx.all(_Titled, Q["list_titled"], item_ids=sorted(item_ids))
        for rule in rules
        if (shared := find_shared(rule.pattern, item.title)) is not None
    ]


async def list_roots(tx: Tx, item_ids: Collection[UUID]) -> list[_InChain]:
    """Return the chains of replies that items are in."""
    return await tx.all(_InChain, Q["list_roots"], item_ids=sorted(item_ids), max_seen=MAX_SEEN)


async def describe_chains(tx: Tx, chains: Sequence[Chain]) -> dict[Chain, str]:
    """Return what chains of replies are called."""
    found = await tx.all(_ChainName, Q["describe_chains"], **_chain_arrays(chains))
    return {
        (one.channel_id, one.root): album_name(caption=one.caption, first_title=one.first_title)
        for one in found
    }


async def _find_by_title(tx: Tx, rules: Sequence[ActiveRule], item_ids: Collection[UUID]) -> RuleFinds:
    if not rules:
        return RuleFinds()
    read = await list_titled(tx, rules, item_ids)
    mine = await _try_locks(tx, {one.group_id for one in read})
    candidates = [one for one in read if one.group_id in mine]
    empty: dict[str, list[str]] = {name: [] for name in _NewCandidate._fields}
    fields = columns(_NewCandidate._fields, candidates) if candidates else empty
    rule_ids = [rule.id for rule in rules]
    await tx.execute(Q["write_candidates"], item_ids=sorted(item_ids), rule_ids=rule_ids, **fields)
    keys = {one.group_id: one for one in candidates}
    groups = await _with_candidates(tx, keys, item_ids) if keys else []
    return RuleFinds(tuple(groups), frozenset(one.item_id for one in read if one.group_id not in mine))


async def _with_candidates(
    tx: Tx, keys: Mapping[UUID, _NewCandidate], item_ids: Collection[UUID]
) -> list[FoundGroup]:
    rows = await tx.all(
        _Candidate,
        Q["list_candidates"],
        group_ids=list(keys),
        rule_ids=[one.rule_id for one in keys.values()],
        channel_ids=[one.channel_id for one in keys.values()],
        source_keys=[one.source_key for one in keys.values()],
        item_ids=sorted(item_ids),
        max_members=MAX_MEMBERS,
    )
    joining: dict[UUID, list[_Candidate]] = {}
    for row in rows:
        joining.setdefault(row.group_id, []).append(row)
    known = {group.id: group for group in await tx.all(_KnownGroup, Q["list_known"], ids=sorted(keys))}
    return [
        FoundGroup(
            group_id,
            key.rule_id,
            key.channel_id,
            key.source_key,
            name=joining[group_id][0].name if group_id in joining else key.name,
            item_ids=tuple(row.item_id for row in joining.get(group_id, ())),
            is_known=group_id in known,
            is_dissolved=group_id in known and known[group_id].dissolved,
        )
        for group_id, key in keys.items()
    ]


async def _find_chains(tx: Tx, rule: ActiveRule, item_ids: Collection[UUID]) -> RuleFinds:
    in_chains = await list_roots(tx, item_ids)
    if not in_chains:
        return RuleFinds()
    ids = {(one.channel_id, one.root): rule_group_id(rule.id, one.channel_id, one.root) for one in in_chains}
    mine = await _try_locks(tx, set(ids.values()))
    chains = [chain for chain, group_id in ids.items() if group_id in mine]
    busy = frozenset(one.item_id for one in in_chains if ids[one.channel_id, one.root] not in mine)
    if not chains:
        return RuleFinds((), busy)
    names = await describe_chains(tx, chains)
    found = {
        chain: FoundGroup(ids[chain], rule.id, *chain, name=names[chain], is_chain=True) for chain in chains
    }
    for known in await tx.all(_ChainGroup, Q["list_chain_groups"], rule_id=rule.id, **_chain_arrays(chains)):
        group = found[known.channel_id, known.root]
        dissolved = group.is_dissolved or known.dissolved
        first = group.id if group.is_known else known.id
        found[known.channel_id, known.root] = replace(group, id=first, is_known=True, is_dissolved=dissolved)
    held: dict[Chain, list[UUID]] = {}
    for row in await tx.all(_InChain, Q["list_chained"], **_chain_arrays(chains)):
        held.setdefault((row.channel_id, row.root), []).append(row.item_id)
    groups = [replace(group, item_ids=tuple(held.get(chain, ()))) for chain, group in found.items()]
    return RuleFinds(tuple(groups), busy)


async def _try_locks(tx: Tx, group_ids: Collection[UUID]) -> set[UUID]:
    return set(await tx.column(Q["try_locks"], ids=sorted(group_ids))) if group_ids else set()


def _chain_arrays(chains: Sequence[Chain]) -> dict[str, list[object]]:
    return {"channel_ids": [channel for channel, _ in chains], "roots": [root for _, root in chains]}
