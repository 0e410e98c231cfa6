"""What the world holds of each channel that is followed, beside what is written down about it.

Messages are edited, and an edit that nobody heard of cannot be known. So each message is a list of forms,
oldest first: until everything is read again one of them must have been taken in, after that the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from headgate.domain.streams.filters import Candidate
from headgate.domain.streams.messages import UNPLACED, Lens, Message, Span
from headgate.domain.streams.rules import ChannelRules, FilterVerdict
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.intake.channels.rules import RulesCache
from headgate.storage.database import Connection, Tx
from headgate.storage.queries import QueryFile
from headgate.testing.platform.streams.rows import Row, tell_message
from headgate.testing.platform.world import World
from headgate.testing.simulator.streams.set_names import NamedVolume, read_name

Q = QueryFile(
    "truth",
    """
-- name: channels
select c.id, c.key, coalesce(a.name, '') as owner, s.lenses, s.head, s.tier, s.message_count,
       s.total_messages_scanned, (select count(distinct g.message_key) from sighting g
                                  where g.channel_id = c.id and g.verdict = 'kept') as counted
from channel c join stream s on s.channel_id = c.id left join account a on a.id::text = c.scope
order by c.key, a.name

-- name: coverage
select channel_id, lens, lower(part) as start, upper(part) as end from coverage, unnest(ranges) as part

-- name: sightings
select s.channel_id, message_key, attachment_key, s.position, file_name, url, s.topic, author, from_bot,
       size_bytes, mime_type, content_id, verdict, settings_hash, item_id, text, album, reply_to
from sighting s join message m on (m.channel_id, m.key) = (s.channel_id, s.message_key)

-- name: items
select id, channel_id, content_key, hidden from item

-- name: misses
select channel_id, message_key from miss where stage = 'read'

-- name: places
select channel_id, key, position from placed_message

-- name: rechecks
select channel_id, message_key from recheck
""",
)


@dataclass(frozen=True)
class ChannelRow:
    """A followed stream, with its own counters."""

    id: UUID
    key: str
    owner: str
    lenses: list[Lens]
    head: int | None
    tier: str
    message_count: int
    total_messages_scanned: int
    counted: int


@dataclass(frozen=True)
class SightingRow:
    """A sighting as it is stored."""

    channel_id: UUID
    message_key: str
    attachment_key: str
    position: int
    file_name: str
    url: str
    topic: str
    author: str
    from_bot: bool
    size_bytes: int
    mime_type: str
    content_id: str
    verdict: str
    settings_hash: str
    item_id: UUID | None
    text: str
    album: str
    reply_to: str

    @property
    def content_key(self) -> str:
        if self.content_id:
            return f"content:{self.content_id}"
        return f"place:{self.message_key}/{self.attachment_key}"

    @property
    def candidate(self) -> Candidate:
        return Candidate(
            self.file_name, self.mime_type, self.size_bytes, self.author, self.from_bot, url=self.url
        )

    @property
    def volume_of(self) -> tuple[str, str] | None:
        """The set of which this is a volume; people here give each set a name of its own."""
        return (self.volume.base, self.author) if self.volume else None

    @cached_property
    def volume(self) -> NamedVolume | None:
        return read_name(self.file_name)

    @property
    def number(self) -> int:
        return self.volume.number if self.volume else 0


@dataclass(frozen=True)
class ItemRow:
    """An item as it is stored."""

    id: UUID
    channel_id: UUID
    content_key: str
    hidden: bool


@dataclass(frozen=True)
class TruePlace:
    """A candidate of a message: the key under which it must be found, and what it is."""

    key: str
    candidate: Candidate
    content_key: str

    def is_in(self, sighting: SightingRow) -> bool:
        """Say whether a sighting is of this very file or link."""
        return (sighting.file_name, sighting.url, sighting.size_bytes) == (
            self.candidate.file_name,
            self.candidate.url,
            self.candidate.size_bytes,
        )


@dataclass(frozen=True)
class Form:
    """What a message is, or was."""

    message: Message
    places: tuple[TruePlace, ...]

    def is_said_with(self, sighting: SightingRow) -> bool:
        """Say whether this is what was said with something that was seen."""
        said = self.message
        return (sighting.text, sighting.author, sighting.topic, sighting.album, sighting.reply_to) == (
            said.text,
            said.author,
            said.topic,
            said.album,
            said.reply_to,
        )

    def matches(self, lens: Lens) -> bool:
        """Say whether a search through this lens finds it."""
        pictures = [file.mime_type.startswith("image/") for file in self.message.attachments]
        if lens == "everything":
            return True
        return any(pictures) if lens == "photos" else not all(pictures)


@dataclass(frozen=True)
class HeldSighting:
    """A message that is there now, with everything that it has been."""

    key: str
    position: int
    garbled: bool
    forms: tuple[Form, ...]


@dataclass
class Channel:
    """One followed channel: the world's side of it, and ours."""

    row: ChannelRow
    rules: ChannelRules
    held: list[HeldSighting]
    posted: int
    contents: set[str]
    """The content keys of everything that was ever posted."""
    covered: Mapping[Lens, Sequence[Span]]
    sightings: dict[tuple[str, str], SightingRow]
    items: dict[UUID, ItemRow]
    open_keys: set[str]
    """Messages that are to be fetched once more."""

    @property
    def name(self) -> str:
        return f"{self.row.key} of {self.row.owner}" if self.row.owner else self.row.key

    @cached_property
    def sets(self) -> dict[tuple[str, str], list[SightingRow]]:
        """The volumes of each set, by number and then in the order in which they were posted."""
        found: dict[tuple[str, str], list[SightingRow]] = {}
        for sighting in sorted(self.sightings.values(), key=lambda each: each.position):
            if sighting.volume_of:
                found.setdefault(sighting.volume_of, []).append(sighting)
        return {name: sorted(volumes, key=lambda each: each.number) for name, volumes in found.items()}

    def judge(self, sighting: SightingRow) -> FilterVerdict:
        """Judge what was seen by the settings of now: a volume as its set, in the first one's topic."""
        own = self.rules.judge(sighting.candidate, topic=sighting.topic)
        if sighting.volume_of is None:
            return own
        volumes = {each.number: each for each in reversed(self.sets[sighting.volume_of])}
        first = volumes[min(volumes)]
        if first.volume is None or (first.volume.needs_others and len(volumes) == 1):
            return own
        whole = replace(
            first.candidate,
            file_name=first.volume.whole,
            size_bytes=sum(each.size_bytes for each in volumes.values()),
        )
        return replace(own, verdict=self.rules.judge(whole, topic=first.topic).verdict)

    def is_covered(self, position: int, lens: Lens) -> bool:
        lenses: set[Lens] = {lens, "everything"}
        return any(position in span for each in lenses for span in self.covered.get(each, ()))


async def read_channels(world: World, director: Connection) -> list[Channel]:
    """Put both sides of all channels together; forgets nothing and trusts nothing."""
    tx = Tx(director)
    rows = await tx.all(ChannelRow, Q["channels"])
    cache = RulesCache(IntakeKnobs(), world.clock)
    rules = await cache.get_many(tx, [row.id for row in rows])
    spans = await _grouped(tx, "coverage")
    sightings = await tx.all(SightingRow, Q["sightings"])
    items = await tx.all(ItemRow, Q["items"])
    again = [*await _pairs(tx, "misses"), *await _pairs(tx, "rechecks")]
    places = {(row["channel_id"], row["key"]): row["position"] for row in await tx.raw(Q["places"].sql)}
    channels: list[Channel] = []
    for row in rows:
        if row.key not in world.streams:
            continue
        shift = world.accounts[row.owner].shift if row.owner else 0
        stream = world.stream(row.key)
        posted = [(message, _forms(world, message, shift=shift)) for message in stream.posted]
        channels.append(
            Channel(
                row=row,
                rules=rules[row.id],
                held=[
                    replace(held, position=places.get((row.id, held.key), UNPLACED))
                    if world.profile.allotted
                    else held
                    for held in _hold(world, posted, shift=shift)
                ],
                posted=len(posted),
                contents={
                    place.content_key for _, forms in posted for form in forms for place in form.places
                },
                covered=spans.get(row.id, {}),
                sightings={(s.message_key, s.attachment_key): s for s in sightings if s.channel_id == row.id},
                items={item.id: item for item in items if item.channel_id == row.id},
                open_keys={key for channel_id, key in again if channel_id == row.id},
            )
        )
    return channels


async def _grouped(tx: Tx, name: str) -> dict[UUID, dict[Lens, list[Span]]]:
    spans: dict[UUID, dict[Lens, list[Span]]] = {}
    for row in await tx.raw(Q[name].sql):
        spans.setdefault(row["channel_id"], {}).setdefault(row["lens"], []).append(
            Span(row["start"], row["end"])
        )
    return spans


async def _pairs(tx: Tx, name: str) -> list[tuple[UUID, str]]:
    return [(row["channel_id"], row["message_key"]) for row in await tx.raw(Q[name].sql)]


def _hold(world: World, posted: Sequence[tuple[Row, tuple[Form, ...]]], *, shift: int) -> list[HeldSighting]:
    return [
        HeldSighting(str(row.position + shift), row.position + shift, row.garbled, forms)
        for row, forms in posted
        if not row.is_deleted(world.now_ms)
    ]


def _forms(world: World, row: Row, *, shift: int) -> tuple[Form, ...]:
    return tuple(
        _form(world, replace(row, content=content, edited_ms=None, edited_content=None), shift=shift)
        for content in row.forms(world.now_ms)
    )


def _form(world: World, row: Row, *, shift: int) -> Form:
    message = tell_message(row, at_ms=world.now_ms, shift=shift, names_content=world.profile.names_content)
    facts: dict[str, Any] = {"author": message.author, "from_bot": message.from_bot}
    files = [
        TruePlace(
            file.key,
            Candidate(file.file_name, file.mime_type, file.size_bytes, **facts),
            f"content:{file.content_id}" if file.content_id else f"place:{message.key}/{file.key}",
        )
        for file in message.attachments
    ]
    links = [
        TruePlace(f"link:{number}", Candidate(url=url, **facts), f"content:link:{url}")
        for number, url in enumerate(dict.fromkeys(message.links))
    ]
    return Form(message, (*files, *links))
