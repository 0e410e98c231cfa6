"""The judgement: what the world holds and saw, against what was caught.

Each check returns sentences about what is wrong. What is true at every moment is checked all along; what is
true only when everything has come to rest, in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from headgate.domain.streams.filters import KEPT
from headgate.storage.database import Connection, Tx
from headgate.testing.platform.world import World
from headgate.testing.simulator.streams.truth import Channel, Form, HeldSighting, TruePlace, read_channels


async def check_always(world: World, director: Connection) -> list[str]:
    """Return what is never allowed: covered and not taken in, doubled, or counted wrongly."""
    failures: list[str] = []
    for channel in await read_channels(world, director):
        failures += [*_check_coverage(channel), *_check_counters(channel), *_check_items(channel)]
    return failures


async def check_rest(
    world: World, director: Connection, *, last_forms: bool, pins: Mapping[UUID, str] | None = None
) -> list[str]:
    """Return everything that is lost, doubled, shown or hidden wrongly, or not at rest.

    With `last_forms` messages must be known as they are now, otherwise as they have been at any time. What a
    person pinned must be as it was pinned.
    """
    channels = await read_channels(world, director)
    failures = [*_check_followed(world, channels)]
    for channel in channels:
        failures += [
            *_check_coverage(channel),
            *_check_counters(channel),
            *_check_items(channel),
            *_check_sets(channel),
            *_check_caught(channel, last_forms=last_forms),
            *_check_shown(channel),
            *_check_read_whole(world, channel),
            *_check_misses(channel),
            *_check_pin(channel, (pins or {}).get(channel.row.id)),
        ]
    unrest = await Tx(director).raw(_UNREST)
    return [*failures, *(str(row["left"]) for row in unrest)]


_UNREST = """
select format('a job is left: %s', dedupe_key) as left from pgqueuer where status = 'picked'
union all
select format('the dead letter %s:%s is open: %s', kind, key, message) from dead_letter where state = 'open'
union all
select format('a miss of ingesting is left: message %s: %s', message_key, error_message) from miss
where stage = 'ingest'
union all
select format('a judging is left: %s', channel_id) from judging
union all
select format('a name is still to be assembled: %s', volume_key) from volume_bucket
where changed_from is not null
union all
select format('something of channel %s is still to be labelled', channel_id)
from (select channel_id from label_queue union select channel_id from label_sweep) as unlabelled
union all
select format('item %s was never labelled', i.id) from item i
where not exists (select from labelled_item l where l.item_id = i.id)
  and exists (select from sighting s where s.item_id = i.id)
union all
select format('a scan is left: %s of %s', s.status, c.key) from scan s join channel c on c.id = s.channel_id
where s.status in ('QUEUED', 'RUNNING')
union all
select format('a stream will never be looked at: %s', c.key)
from stream s join channel c on c.id = s.channel_id
where s.due_at is null and c.message_scan_enabled
union all
select format('a stream was woken and is still to be looked at: %s', c.key)
from stream s join channel c on c.id = s.channel_id
where s.woken and c.message_scan_enabled
union all
select format('%s rests until %s for a reason that has passed: %s', c.key, s.due_at, s.reason)
from stream s join channel c on c.id = s.channel_id
where c.message_scan_enabled and s.due_at > now() + interval '5 seconds' and not case s.reason
    when 'retry' then exists (select from hole h where h.channel_id = c.id)
    when 'breaker_open' then exists (select from watch w where w.channel_id = c.id and w.open_until > now())
    else s.reason in ('caught_up', 'recent_idle', 'cold', 'settling')
end
"""


def _check_followed(world: World, channels: list[Channel]) -> Iterator[str]:
    per_account = world.profile.position_scope == "account"
    known = {(channel.row.key, channel.row.owner) for channel in channels}
    for stream in world.streams.values():
        viewers = [name for name in world.accounts if world.sees(name, stream)]
        for owner in viewers if per_account else [""]:
            if (stream.key, owner) not in known:
                yield f"not followed: {stream.key} {owner}"


def _check_coverage(channel: Channel) -> Iterator[str]:
    """Whatever is covered was taken in: each of its files and links, in a form that the message once had."""
    for held in channel.held:
        if held.key in channel.open_keys:
            continue
        for lens, spans in channel.covered.items():
            if not any(held.position in span for span in spans):
                continue
            if not any(not form.matches(lens) or _is_seen(channel, held, form) for form in held.forms):
                yield f"covered through {lens}, but not seen: message {held.key} in {channel.name}"


def _is_seen(channel: Channel, held: HeldSighting, form: Form) -> bool:
    return all(_sighted(channel, held, form, place) for place in form.places)


def _sighted(channel: Channel, held: HeldSighting, form: Form, place: TruePlace) -> bool:
    sighting = channel.sightings.get((held.key, place.key))
    return sighting is not None and place.is_in(sighting) and form.is_said_with(sighting)


def _check_counters(channel: Channel) -> Iterator[str]:
    row = channel.row
    if row.message_count != row.counted:
        yield f"{channel.name} counts {row.message_count} messages with items, but there are {row.counted}"
    if row.total_messages_scanned > channel.posted:
        yield f"{channel.name} counts {row.total_messages_scanned} messages, but there are {channel.posted}"
    ends = [span.end for spans in channel.covered.values() for span in spans]
    if ends and max(ends) > (row.head or 0) + 1:
        yield f"{channel.name} is covered beyond the newest message that was heard of"


def _check_pin(channel: Channel, pinned: str | None) -> Iterator[str]:
    """What a person chose stays, whatever the schedule would choose."""
    if pinned is not None and channel.row.tier != pinned:
        yield f"{channel.name} is checked as {channel.row.tier}, pinned to {pinned}"


def _check_items(channel: Channel) -> Iterator[str]:
    """Nothing is caught twice, and nothing that was never there."""
    keys = [item.content_key for item in channel.items.values()]
    yield from (f"doubled: {key} in {channel.name}" for key in {k for k in keys if keys.count(k) > 1})
    made_up = {key for key in keys if not key.startswith("set:")} - channel.contents
    yield from (f"made up: {key} in {channel.name}" for key in made_up)
    for sighting in channel.sightings.values():
        if sighting.item_id is None or sighting.volume_of:
            continue
        if channel.items[sighting.item_id].content_key != sighting.content_key:
            yield f"{sighting.content_key} in {channel.name} is linked to another item"


def _check_sets(channel: Channel) -> Iterator[str]:
    """The volumes of one set are one item, and nothing else is in it."""
    sets_of: dict[object, set[tuple[str, str] | None]] = {}
    for sighting in channel.sightings.values():
        if sighting.item_id is not None:
            sets_of.setdefault(sighting.item_id, set()).add(sighting.volume_of)
    yield from (f"mixed in one item: {held} in {channel.name}" for held in sets_of.values() if len(held) > 1)
    for (base, _), volumes in channel.sets.items():
        if not volumes[0].content_id and len({each.number for each in volumes}) < len(volumes):
            continue  # Posted again without a name of the content: that may as well be another set.
        items = {each.item_id for each in volumes}
        if len(items) > 1:
            yield f"the volumes of {base} in {channel.name} are in {len(items)} items"


def _check_caught(channel: Channel, *, last_forms: bool) -> Iterator[str]:
    """Every attachment and link that the settings of now keep is an item, and is shown."""
    for held in channel.held:
        if held.garbled or (not last_forms and _may_be_unknown(channel, held)):
            continue
        forms = held.forms[-1:] if last_forms else held.forms
        reasons = [next(_why_not(channel, held, form), "") for form in forms]
        if all(reasons):
            yield f"{reasons[-1]} of message {held.key} in {channel.name}"


def _may_be_unknown(channel: Channel, held: HeldSighting) -> bool:
    """Say whether each search may have come while the message was nothing that it finds."""
    return all(any(not form.matches(lens) for form in held.forms) for lens in channel.row.lenses)


def _why_not(channel: Channel, held: HeldSighting, form: Form) -> Iterator[str]:
    for place in form.places:
        what = place.candidate.file_name or place.candidate.url
        sighting = channel.sightings.get((held.key, place.key))
        if sighting is not None and sighting.volume_of and place.is_in(sighting):
            kept = channel.judge(sighting).verdict == KEPT
        else:
            kept = channel.rules.judge(place.candidate, topic=form.message.topic).verdict == KEPT
        if not kept:
            if sighting is not None and place.is_in(sighting) and sighting.verdict == KEPT:
                yield f"kept, but to be rejected: {what}"
        elif sighting is None or not place.is_in(sighting):
            yield f"lost: {what}"
        elif not form.is_said_with(sighting):
            yield f"what was said with it is not known: {what}"
        elif sighting.verdict != KEPT:
            yield f"rejected ({sighting.verdict}), but to be kept: {what}"
        elif sighting.item_id is None:
            yield f"no item yet: {what}"
        elif channel.items[sighting.item_id].hidden:
            yield f"hidden, but to be shown: {what}"


def _check_shown(channel: Channel) -> Iterator[str]:
    """An item is shown if the settings of now keep anything of it; verdicts are of these settings."""
    wanted: dict[object, bool] = {}
    for sighting in channel.sightings.values():
        judged = channel.judge(sighting)
        place = f"{sighting.message_key}/{sighting.attachment_key} in {channel.name}"
        if (judged.verdict, judged.settings_hash) != (sighting.verdict, sighting.settings_hash):
            yield f"judged by other settings: {place} is {sighting.verdict}, should be {judged.verdict}"
        if sighting.item_id is not None:
            wanted[sighting.item_id] = wanted.get(sighting.item_id, False) or judged.verdict == KEPT
    for item in channel.items.values():
        if item.id in wanted and wanted[item.id] == item.hidden:
            state = "hidden" if item.hidden else "shown"
            yield f"{state} against the settings: {item.content_key} in {channel.name}"


def _check_read_whole(world: World, channel: Channel) -> Iterator[str]:
    lenses = channel.rules.lenses(world.profile.lenses)
    if tuple(channel.row.lenses) != lenses:
        yield f"{channel.name} is read through {channel.row.lenses}, not {lenses}"
    for lens in lenses:
        # The newest message that was heard of may be deleted by now; up to it there is something to read.
        if channel.row.head is not None and not channel.is_covered(channel.row.head, lens):
            yield f"not read up to its head through {lens}: {channel.name}"
    for held in channel.held:
        for lens in lenses:
            if not channel.is_covered(held.position, lens):
                yield f"never read through {lens}: message {held.key} in {channel.name}"


def _check_misses(channel: Channel) -> Iterator[str]:
    """Only what cannot be parsed now may be waiting for another try."""
    garbled = {held.key for held in channel.held if held.garbled}
    for key in sorted(channel.open_keys - garbled):
        yield f"still to be fetched once more: message {key} in {channel.name}"
