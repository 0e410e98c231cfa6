"""A person who groups, renames, moves, dissolves and undoes at random, and remembers every decision.

What automation does must leave each of them alone, until the person decides otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from headgate.catalogue.groups import editing
from headgate.domain.errors import UserError
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection, Tx
from headgate.storage.queries import QueryFile
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.streams.set_names import MARK

Q = QueryFile(
    "grouping",
    """
-- name: items
select id, group_id, kind, title from item where not hidden order by id

-- name: all_items
select id, group_id, kind, title from item

-- name: groups
select id, name, name_by, dissolved_at is not null as dissolved from item_group order by created_at, id
""",
)


@dataclass(frozen=True)
class ItemRow:
    """An item, and where it is."""

    id: UUID
    group_id: UUID | None
    kind: str
    title: str

    @property
    def lasts(self) -> bool:
        """Whether it stays itself: volumes become parts of sets."""
        return self.kind != "package" and not self.title.startswith(MARK)


@dataclass(frozen=True)
class GroupRow:
    """A group, and what a person decided of it."""

    id: UUID
    name: str
    name_by: str
    dissolved: bool


@dataclass
class Decisions:
    """What the person decided last of each item and group."""

    placed: dict[UUID, UUID] = field(default_factory=dict[UUID, UUID])
    taken_out: set[tuple[UUID, UUID]] = field(default_factory=set[tuple[UUID, UUID]])
    dissolved: set[UUID] = field(default_factory=set[UUID])
    names: dict[UUID, str] = field(default_factory=dict[UUID, str])

    def place(self, items: Collection[ItemRow], group_id: UUID, emptied: Collection[UUID]) -> None:
        for item in items:
            self.taken_out.discard((item.id, group_id))
            if item.lasts:
                self.placed[item.id] = group_id
        self.dissolved.update(emptied)

    def leave(self, group_id: UUID) -> None:
        self.placed = {item: group for item, group in self.placed.items() if group != group_id}

    def forget(self, items: Collection[UUID], groups: Collection[UUID]) -> None:
        """Whether the last decision was stored is not known: expect nothing of what it was about."""
        for group_id in groups:
            self.leave(group_id)
            self.names.pop(group_id, None)
        touched = set(items)
        self.placed = {item: group for item, group in self.placed.items() if item not in touched}
        self.dissolved.difference_update(groups)
        self.taken_out = {
            (item, group) for item, group in self.taken_out if item not in touched and group not in groups
        }


@dataclass
class Grouper:
    """Changes groups, one transaction at a time."""

    stage: Stage
    database: StagedDatabase
    choices: Randomness
    ids: Ids
    decisions: Decisions = field(default_factory=Decisions)
    _made: int = 0

    async def act(self) -> None:
        """Do one thing to some group or items."""
        async with self.database.transaction() as tx:
            items, groups = await tx.all(ItemRow, Q["items"]), await tx.all(GroupRow, Q["groups"])
        chosen = [self.choices.choice(items) for _ in range(2 + self.choices.below(3))] if items else []
        chosen = list({item.id: item for item in chosen}.values())
        group = self.choices.choice(groups) if groups else None
        if group is None or self.choices.chance(0.25):
            await self._guard(lambda tx: self._create(tx, chosen), chosen, ())
            return
        members = [item for item in items if item.group_id == group.id]
        deeds: list[Callable[[Tx], Awaitable[Callable[[], None]]]] = [
            lambda tx: self._add(tx, group, chosen),
            lambda tx: self._remove(tx, group, members[:1] or chosen[:1]),
            lambda tx: self._rename(tx, group),
            lambda tx: self._dissolve(tx, group),
            lambda tx: self._restore(tx, group),
            lambda tx: self._merge(tx, group, self.choices.choice(groups)),
        ]
        await self._guard(self.choices.choice(deeds), [*chosen, *members], [one.id for one in groups])

    async def _guard(
        self,
        deed: Callable[[Tx], Awaitable[Callable[[], None]]],
        items: Sequence[ItemRow],
        groups: Sequence[UUID],
    ) -> None:
        """Carry a decision out and note it; what a lost answer leaves open is not expected of anybody."""
        try:
            async with self.database.transaction() as tx:
                note = await deed(tx)
        except UserError:
            return
        except BaseException:
            self.decisions.forget([item.id for item in items], groups)
            raise
        note()

    async def _create(self, tx: Tx, items: Sequence[ItemRow]) -> Callable[[], None]:
        self._made += 1
        name = f"Made {self._made}"
        made = await editing.create_group(
            tx, [item.id for item in items], name=name, ids=self.ids, now=self.stage.now()
        )

        def note() -> None:
            self.decisions.place(items, made.id, made.dissolved)
            self.decisions.names[made.id] = name

        return note

    async def _add(self, tx: Tx, group: GroupRow, items: Sequence[ItemRow]) -> Callable[[], None]:
        moved = await editing.add_to_group(tx, group.id, [item.id for item in items], now=self.stage.now())
        joined = [item for item in items if item.group_id != group.id]
        return lambda: self.decisions.place(joined, group.id, moved.dissolved)

    async def _merge(self, tx: Tx, group: GroupRow, other: GroupRow) -> Callable[[], None]:
        await editing.merge_groups(tx, group.id, [other.id], now=self.stage.now())

        def note() -> None:
            for item_id, group_id in self.decisions.placed.items():
                if group_id == other.id:
                    self.decisions.placed[item_id] = group.id
            self.decisions.taken_out = {
                (item, out_of) for item, out_of in self.decisions.taken_out if out_of != group.id
            }
            self.decisions.dissolved.add(other.id)

        return note

    async def _remove(self, tx: Tx, group: GroupRow, items: Sequence[ItemRow]) -> Callable[[], None]:
        left = await editing.remove_from_group(
            tx, group.id, [item.id for item in items], now=self.stage.now()
        )

        def note() -> None:
            if left.items:
                for item in items:
                    self.decisions.placed.pop(item.id, None)
                self.decisions.taken_out |= {(item.id, group.id) for item in items if item.lasts}
            if left.dissolved:
                self.decisions.dissolved.add(group.id)

        return note

    async def _rename(self, tx: Tx, group: GroupRow) -> Callable[[], None]:
        self._made += 1
        name = await editing.rename_group(tx, group.id, f"Named {self._made}")

        def note() -> None:
            self.decisions.names[group.id] = name

        return note

    async def _dissolve(self, tx: Tx, group: GroupRow) -> Callable[[], None]:
        await editing.dissolve_group(tx, group.id, now=self.stage.now())

        def note() -> None:
            self.decisions.leave(group.id)
            self.decisions.dissolved.add(group.id)

        return note

    async def _restore(self, tx: Tx, group: GroupRow) -> Callable[[], None]:
        restored = await editing.restore_group(tx, group.id, now=self.stage.now())

        def note() -> None:
            self.decisions.dissolved.discard(group.id)
            self.decisions.dissolved.update(restored.dissolved)

        return note


async def check_decisions(director: Connection, decisions: Decisions) -> list[str]:
    """Return what automation has undone of what the person decided."""
    tx = Tx(director)
    items = {item.id: item for item in await tx.all(ItemRow, Q["all_items"])}
    groups = {group.id: group for group in await tx.all(GroupRow, Q["groups"])}
    return [*_check_items(decisions, items), *_check_groups(decisions, items, groups)]


def _check_items(decisions: Decisions, items: dict[UUID, ItemRow]) -> Iterator[str]:
    for item_id, group_id in decisions.placed.items():
        if item_id in items and items[item_id].group_id != group_id:
            yield f"a person put {item_id} into {group_id}, but it is in {items[item_id].group_id}"
    for item_id, group_id in decisions.taken_out:
        if item_id in items and items[item_id].group_id == group_id:
            yield f"a person took {item_id} out of {group_id}, but it is in there again"


def _check_groups(
    decisions: Decisions, items: dict[UUID, ItemRow], groups: dict[UUID, GroupRow]
) -> Iterator[str]:
    for group_id in sorted({*decisions.dissolved, *decisions.names} - groups.keys()):
        yield f"a person changed {group_id}, but there is no such group any more"
    for group_id in sorted(decisions.dissolved & groups.keys()):
        if not groups[group_id].dissolved:
            yield f"a person dissolved {groups[group_id].name!r}, but it is there again"
    for group_id, name in decisions.names.items():
        if group_id in groups and groups[group_id].name != name:
            yield f"a person named a group {name!r}, but it is called {groups[group_id].name!r}"
    for item in items.values():
        if item.group_id is not None and groups[item.group_id].dissolved:
            yield f"{item.id} is in a group that was dissolved"
