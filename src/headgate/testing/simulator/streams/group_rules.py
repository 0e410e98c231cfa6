"""A person who switches rules that group items on and off at random, and the judgement of what rules promise.

When all is at rest, everything that a rule groups is together; what a person took out of a group is left
alone; and a rule that was switched off with its groups leaves none behind that nobody has changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from headgate.catalogue.groups import editing, rules
from headgate.catalogue.labels import LabelChange
from headgate.domain.errors import UserError
from headgate.domain.library.group_rules import EXAMPLE_PATTERN, GroupRule, find_shared, rule_group_id
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection, Tx
from headgate.storage.groups.rules import StoredGroupRule
from headgate.storage.queries import QueryFile
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.streams.grouping import Decisions

RULES = (
    GroupRule("Series", "title", EXAMPLE_PATTERN),
    GroupRule("Answers", "replies"),
    GroupRule("By first word", "title", r"^(\w+)"),
)
CREATORS = ("Mara", "Tidewater")

Q = QueryFile(
    "group rules",
    """
-- name: rules
select id, name, kind, pattern, enabled, sweep from group_rule order by created_at, id

-- name: shown_items
select id from item where not hidden order by id

-- name: free_items
select i.id, i.channel_id, i.title, coalesce((
    select l.key from headgate_item_labels(i.id) as l where l.kind = 'creator' limit 1
), '') as creator
from item i where not i.hidden and i.group_id is null
  and not exists (select from group_exclusion x where x.item_id = i.id)

-- name: rule_groups
select g.id, g.rule_id, g.channel_id, g.source_key, g.name, g.dissolved_at is not null as dissolved,
    g.name_by = 'person' or exists (select from group_exclusion x where x.group_id = g.id)
    or exists (select from item i where i.group_id = g.id and i.grouped_by = 'person') as changed
from item_group g where g.kind = 'rule'

-- name: messages
select channel_id, key, reply_to from message

-- name: places
select channel_id, message_key, item_id from sighting where item_id is not null

-- name: joined_by_rules
select id from item where grouped_by = 'rule'
""",
)

Chain = tuple[UUID, str]
"""A channel, and the key of the message that a chain of replies begins with."""


@dataclass(frozen=True)
class RuleRow:
    """A rule, as it is stored."""

    id: UUID
    name: str
    kind: str
    pattern: str
    enabled: bool
    sweep: str


@dataclass(frozen=True)
class FreeItem:
    """An item that a rule may group."""

    id: UUID
    channel_id: UUID
    title: str
    creator: str


@dataclass(frozen=True)
class RuleGroup:
    """A group that a rule has made."""

    id: UUID
    rule_id: UUID | None
    channel_id: UUID | None
    source_key: str
    name: str
    dissolved: bool
    changed: bool
    """A person has named it, put something into it or taken something out."""


@dataclass(frozen=True)
class MessageRow:
    """A message, and the one that it answers."""

    channel_id: UUID
    key: str
    reply_to: str


@dataclass(frozen=True)
class ItemPlace:
    """A message that holds an item."""

    channel_id: UUID
    message_key: str
    item_id: UUID


@dataclass
class RuleKeeper:
    """Adds, switches and removes rules, one transaction at a time."""

    stage: Stage
    database: StagedDatabase
    choices: Randomness
    ids: Ids
    given_up: set[UUID] = field(default_factory=set[UUID])
    """Rules that were last switched off together with their groups."""

    async def act(self) -> None:
        """Do one thing to some rule, or say who made some items: rules by title need to know."""
        if self.choices.chance(0.2):
            await self._name_creator()
            return
        async with self.database.transaction() as tx:
            known = await rules.list_rules(tx)
        missing = [rule for rule in RULES if rule.name not in {one.name for one in known}]
        if missing and self.choices.chance(0.5):
            await self._add(self.choices.choice(missing))
        elif known:
            await self._switch(self.choices.choice(known))

    async def turn_all(self) -> None:
        """Switch every rule to the other side: what is there is grouped anew, or is let go."""
        async with self.database.transaction() as tx:
            for rule in await rules.list_rules(tx):
                if rule.enabled:
                    await rules.switch_off(tx, rule.id, dissolve=True)
                    self.given_up.add(rule.id)
                else:
                    await rules.switch_on(tx, rule.id)
                    self.given_up.discard(rule.id)

    async def _add(self, rule: GroupRule) -> None:
        async with self.database.transaction() as tx:
            added = await rules.add_rule(tx, rule, ids=self.ids, now=self.stage.now())
            await rules.switch_on(tx, added.id)

    async def _switch(self, rule: StoredGroupRule) -> None:
        # An answer that is lost leaves open which of the two it is.
        self.given_up.discard(rule.id)
        gives_up = self.choices.chance(0.5)
        async with self.database.transaction() as tx:
            if not rule.enabled and self.choices.chance(0.15):
                await rules.remove_rule(tx, rule.id)
                return
            if not rule.enabled:
                await rules.switch_on(tx, rule.id)
                return
            await rules.switch_off(tx, rule.id, dissolve=gives_up)
        if gives_up:
            self.given_up.add(rule.id)

    async def _name_creator(self) -> None:
        async with self.database.transaction() as tx:
            items = await tx.column(Q["shown_items"])
            if not items:
                raise UserError("There is nothing to name yet.")
            chosen = {self.choices.choice(items) for _ in range(4)}
            change = LabelChange(creator=self.choices.choice(CREATORS))
            await editing.label_things(tx, sorted(chosen), change, now=self.stage.now())


async def check_group_rules(director: Connection, keeper: RuleKeeper, decisions: Decisions) -> list[str]:
    """Return which promises of rules are broken now that all is at rest."""
    tx = Tx(director)
    known = await tx.all(RuleRow, Q["rules"])
    groups = await tx.all(RuleGroup, Q["rule_groups"])
    free = await tx.all(FreeItem, Q["free_items"])
    messages, places = await tx.all(MessageRow, Q["messages"]), await tx.all(ItemPlace, Q["places"])
    joined = set(await tx.column(Q["joined_by_rules"]))
    chains = _chains_of(messages, places)
    failures = [f"the rule {rule.name!r} is still being applied" for rule in known if rule.sweep]
    for rule in known:
        if rule.enabled and rule.kind == "title":
            failures += _check_titles(rule, free, {group.id: group for group in groups})
        elif rule.enabled:
            failures += _check_chains(rule, free, groups, chains)
    return [*failures, *_check_given_up(known, groups, keeper.given_up), *_check_apart(joined, decisions)]


def _check_titles(rule: RuleRow, free: Sequence[FreeItem], groups: Mapping[UUID, RuleGroup]) -> Iterator[str]:
    """Items of one creator whose titles share something are together."""
    apart: dict[UUID, list[FreeItem]] = defaultdict(list)
    for item in free:
        shared = find_shared(rule.pattern, item.title) if item.creator else None
        if shared is not None:
            key = f"{item.creator}\n{shared.key}"
            apart[rule_group_id(rule.id, item.channel_id, key)].append(item)
    for group_id, items in apart.items():
        group = groups.get(group_id)
        if (group is None and len(items) > 1) or (group is not None and not group.dissolved):
            yield f"{rule.name!r} leaves {[item.title for item in items]} apart"


def _check_chains(
    rule: RuleRow,
    free: Sequence[FreeItem],
    groups: Sequence[RuleGroup],
    chains: Mapping[Chain, tuple[set[str], set[UUID]]],
) -> Iterator[str]:
    """Items of messages that answer each other are together."""
    free_ids = {item.id for item in free}
    for (channel_id, root), (keys, items) in chains.items():
        made = [
            group
            for group in groups
            if (group.rule_id, group.channel_id) == (rule.id, channel_id)
            and group.source_key in {root, *keys}
        ]
        apart = items & free_ids
        if len(keys) < 2 or any(group.dissolved for group in made) or not apart:
            continue
        if made or len(apart) > 1:
            yield f"{rule.name!r} leaves {len(apart)} items apart that answer {root} in {channel_id}"


def _chains_of(
    messages: Sequence[MessageRow], places: Sequence[ItemPlace]
) -> dict[Chain, tuple[set[str], set[UUID]]]:
    """Return the stored messages of each chain, and what they hold."""
    answered = {(one.channel_id, one.key): one.reply_to for one in messages}
    held: dict[Chain, set[UUID]] = defaultdict(set)
    for place in places:
        held[place.channel_id, place.message_key].add(place.item_id)
    chains: dict[Chain, tuple[set[str], set[UUID]]] = {}
    for channel_id, key in answered:
        root = key
        while reply_to := answered.get((channel_id, root)):
            root = reply_to
        keys, items = chains.setdefault((channel_id, root), (set(), set()))
        keys.add(key)
        items |= held[channel_id, key]
    return chains


def _check_given_up(
    known: Sequence[RuleRow], groups: Sequence[RuleGroup], given_up: Collection[UUID]
) -> Iterator[str]:
    for rule in known:
        if rule.enabled or rule.id not in given_up:
            continue
        for group in groups:
            if group.rule_id == rule.id and not group.dissolved and not group.changed:
                yield f"{group.name!r} is left of {rule.name!r}, which was switched off with its groups"


def _check_apart(joined: Collection[UUID], decisions: Decisions) -> Iterator[str]:
    for item_id, group_id in decisions.taken_out:
        if item_id in joined:
            yield f"a person took {item_id} out of {group_id}, and a rule grouped it again"
