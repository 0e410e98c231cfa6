"""From all volumes of one name to sets, run again over all of them whenever one arrives.

A bucket is what one author posted in one channel under one base and family. The result depends on its volumes
alone: backfill reads the newest first, pages and live events overlap, and the outcome is the same. Items keep
their ids: each id that volumes carry leads to the set that has most of them, as the set's own id or as an
alias of it.

What was posted twice: one content is one volume with two sources, however far apart, as for single files.
Without the platform's word, a single volume or a later stretch of a set that is posted again with the same
sizes within two weeks adds second sources, which serve when the first are gone. What begins again with the
first volume and goes on is a second set; posters do that when they replace a set, and two archives never get
mixed.

A person's joins hold whatever names and sizes say, and later volumes may join them. What a person separated
stays alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from headgate.domain.library.archive_sets.clusters import Cluster
from headgate.domain.library.archive_sets.partition import partition
from headgate.domain.library.archive_sets.volumes import Volume

MAX_VOLUMES = 2_000
"""Of a bucket; what was posted later stays single files."""

LoneReason = Literal["ambiguous_name", "separated", "whole_archive", "too_many"]
SetReason = Literal["joined_by_hand", "volumes"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A number of a set and the files that have it, the first posted first."""

    number: int
    sources: tuple[Volume, ...]

    @property
    def volume(self) -> Volume:
        return self.sources[0]


@dataclass(frozen=True, slots=True)
class AssembledItem:
    """A set, or a file that stays single; `reason` says why."""

    slots: tuple[Slot, ...]
    reason: SetReason | LoneReason
    item_id: UUID | None = None
    """The id that it keeps; None: it needs a new one."""
    aliases: tuple[UUID, ...] = ()
    """Ids of items that are in it now; they redirect to it and hand over what people set."""

    @property
    def is_set(self) -> bool:
        return self.reason in {"joined_by_hand", "volumes"}

    @property
    def volumes(self) -> tuple[Volume, ...]:
        return tuple(volume for slot in self.slots for volume in slot.sources)


def assemble(volumes: Iterable[Volume]) -> tuple[AssembledItem, ...]:
    """Return the items of one bucket, by the position of their first volume."""
    ordered = sorted(volumes, key=_order)
    items: list[AssembledItem] = []
    candidates: list[Volume] = []
    # A person's choice is not lost to the limit.
    places = MAX_VOLUMES - sum(volume.pinned_to is not None for volume in ordered)
    for volume in ordered:
        reason = _reason_to_stay_alone(volume, places)
        if reason:
            items.append(_item([volume], reason))
        else:
            candidates.append(volume)
            places -= volume.pinned_to is None
    for cluster, members in partition(candidates):
        items += _items_of(cluster, members)
    return _assign_ids(sorted(items, key=lambda item: min(map(_order, item.volumes))))


def _order(volume: Volume) -> tuple[int, int, str]:
    return volume.position, volume.name.number, volume.key


def _reason_to_stay_alone(volume: Volume, places: int) -> LoneReason | None:
    if volume.pinned_to is not None:
        return None
    if volume.separated:
        return "separated"
    if volume.evidence == "whole":
        return "whole_archive"
    return "too_many" if places <= 0 else None


def _items_of(cluster: Cluster, volumes: Sequence[Volume]) -> list[AssembledItem]:
    if cluster.pin is not None:
        return [_item(volumes, "joined_by_hand")]
    enough = len(cluster.size_of) > 1 and volumes[0].name.naming == "bare"
    if cluster.sure or enough:
        return [_item(volumes, "volumes")]
    if len(cluster.size_of) == 1:
        return [_item(volumes, "ambiguous_name")]
    return [_item([volume], "ambiguous_name") for volume in volumes]


def _item(volumes: Sequence[Volume], reason: SetReason | LoneReason) -> AssembledItem:
    by_number: dict[int, list[Volume]] = defaultdict(list)
    for volume in volumes:
        by_number[volume.name.number].append(volume)
    slots = tuple(Slot(number, tuple(by_number[number])) for number in sorted(by_number))
    return AssembledItem(slots=slots, reason=reason)


def _assign_ids(items: Sequence[AssembledItem]) -> tuple[AssembledItem, ...]:
    """Give each known id to the item with most of its volumes; the oldest of an item's ids stays."""
    homes = _find_homes(items)
    ids: dict[int, list[UUID]] = defaultdict(list)
    for known, place in sorted(homes.items()):
        ids[place].append(known)
    return tuple(_with_ids(item, ids[place]) for place, item in enumerate(items))


def _find_homes(items: Sequence[AssembledItem]) -> dict[UUID, int]:
    shares: dict[UUID, Counter[int]] = defaultdict(Counter)
    pins: dict[UUID, int] = {}
    for place, item in enumerate(items):
        for volume in item.volumes:
            if volume.item_id is not None:
                shares[volume.item_id][place] += 1
            if volume.pinned_to is not None:
                pins[volume.pinned_to] = place
    homes = {known: max(held, key=lambda p: (held[p], items[p].is_set, -p)) for known, held in shares.items()}
    return homes | pins


def _with_ids(item: AssembledItem, ids: Sequence[UUID]) -> AssembledItem:
    if not ids:
        return item
    pinned = {volume.pinned_to for volume in item.volumes}
    own = next((known for known in ids if known in pinned), ids[0])
    return replace(item, item_id=own, aliases=tuple(known for known in ids if known != own))
