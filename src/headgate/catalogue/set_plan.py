"""From the volumes of one name to what their items should be, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headgate.domain.items import content_key, item_kind, item_title, item_type
from headgate.domain.library.archive_sets.assembly import AssembledItem, assemble
from headgate.domain.library.archive_sets.completeness import KnownVolume, SetState, judge_set
from headgate.domain.library.archive_sets.sets import set_candidate, set_file_name, set_size, set_title
from headgate.domain.library.archive_sets.volumes import Volume, read_volume_name
from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.rules import ChannelRules
from headgate.storage.catalogue.sets import StoredVolume


@dataclass(frozen=True)
class PlannedItem:
    """A set or a single file, with its verdict under the rules of now."""

    item: AssembledItem
    files: tuple[StoredVolume, ...]
    """All its files, the copies too, in the order of their numbers."""
    verdict: str
    kind: str
    type: str
    title: str
    size_bytes: int
    content_key: str
    """Of a single file; a set is known by its own id."""

    @property
    def is_set(self) -> bool:
        return self.item.is_set

    @property
    def sent_at(self) -> datetime:
        return min(file.sent_at for file in self.files)

    @property
    def arrived_at(self) -> datetime:
        return max(file.seen_at for file in self.files)


def plan_items(files: Sequence[StoredVolume], rules: ChannelRules) -> list[PlannedItem]:
    """Assemble the volumes of one name, and judge each set as a whole."""
    volumes = {volume.key: (volume, file) for file in files if (volume := _volume(file))}
    assembled = assemble(volume for volume, _ in volumes.values())
    by_key = {key: file for key, (_, file) in volumes.items()}
    return [_plan(item, by_key, rules) for item in assembled]


def judge_completeness(planned: PlannedItem, *, now: datetime, proven_total: int | None) -> SetState:
    """Tell how complete a set is, as of the time up to which its channel was read."""
    lost = {_key(file) for file in planned.files if file.vanished}
    volumes = [
        KnownVolume(
            slot.volume.name,
            slot.volume.size_bytes,
            vanished=all(source.key in lost for source in slot.sources),
        )
        for slot in planned.item.slots
    ]
    return judge_set(volumes, last_arrival_at=planned.arrived_at, now=now, proven_total=proven_total)


def _plan(item: AssembledItem, by_key: dict[str, StoredVolume], rules: ChannelRules) -> PlannedItem:
    files = tuple(by_key[volume.key] for volume in item.volumes)
    first = files[0]
    candidate = _candidate_of_set(item, by_key) if item.is_set else _candidate(first)
    if item.is_set:
        names = [slot.volume.name for slot in item.slots]
        title, size_bytes = set_title(names), set_size([slot.volume for slot in item.slots])
        file_name = set_file_name(names)
        kind = item_kind(file_name=file_name, mime_type=candidate.mime_type)
    else:
        title, size_bytes = item_title(first.file_name, mime_type=first.mime_type), first.size_bytes
        file_name = first.file_name
        kind = item_kind(file_name=file_name, mime_type=first.mime_type)
    return PlannedItem(
        item=item,
        files=files,
        verdict=rules.judge(candidate, topic=first.topic).verdict,
        kind=kind,
        type=item_type(file_name=file_name),
        title=title,
        size_bytes=size_bytes,
        content_key=content_key(
            message_key=first.message_key, attachment_key=first.attachment_key, content_id=first.content_id
        ),
    )


def _candidate_of_set(item: AssembledItem, by_key: dict[str, StoredVolume]) -> Candidate:
    volumes = [slot.volume for slot in item.slots]
    first = by_key[volumes[0].key]
    return set_candidate(
        volumes,
        mime_types=[by_key[volume.key].mime_type for volume in volumes],
        author=first.author,
        from_bot=first.from_bot,
        from_webhook=first.from_webhook,
    )


def _candidate(file: StoredVolume) -> Candidate:
    return Candidate(
        file_name=file.file_name,
        mime_type=file.mime_type,
        size_bytes=file.size_bytes,
        author=file.author,
        from_bot=file.from_bot,
        from_webhook=file.from_webhook,
        url=file.url,
    )


def _volume(file: StoredVolume) -> Volume | None:
    name = read_volume_name(file.file_name)
    if name is None:
        return None
    return Volume(
        key=_key(file),
        name=name,
        size_bytes=file.size_bytes,
        position=file.position,
        sent_at=file.sent_at,
        content_id=file.content_id,
        topic=file.topic,
        item_id=file.item_id,
        pinned_to=file.pinned_to,
        separated=file.separated,
        evidence=file.evidence,
    )


def _key(file: StoredVolume) -> str:
    return f"{file.message_key}/{file.attachment_key}"
