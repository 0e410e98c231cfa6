"""The rules of one channel: whether it is read, what of it is kept, and how often it is checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from headgate.domain.library.fetching import FETCH_ALL, FETCH_NONE, FetchRule
from headgate.domain.streams.channel_settings import ChannelSettings, OnDelete, merge_layers
from headgate.domain.streams.filters import Candidate, Filter, Verdict, effective_filter, verdict
from headgate.domain.streams.messages import Lens
from headgate.domain.streams.schedule_knobs import Knobs

TOPIC_DISABLED_HASH = "topic_disabled"
"""What sightings of a disabled topic were judged under: no filter at all."""


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """A verdict, and under which settings it was found."""

    verdict: Verdict
    settings_hash: str


@dataclass(frozen=True)
class TopicLayer:
    """A topic that is switched off or has settings of its own."""

    key: str
    enabled: bool
    settings: ChannelSettings


@dataclass(frozen=True)
class HashedFilter:
    """A filter with its hash; without a filter nothing passes."""

    filter: Filter | None
    settings_hash: str
    """Also of what is downloaded: where that changes, everything is judged again."""
    fetch: FetchRule = FETCH_ALL

    @classmethod
    def of(cls, settings: ChannelSettings) -> HashedFilter:
        by, fetch = effective_filter(settings), FetchRule.of(settings)
        return cls(by, by.settings_hash + fetch.hash_suffix, fetch)

    def judge(self, candidate: Candidate) -> FilterVerdict:
        if self.filter is None:
            return FilterVerdict("topic_disabled", self.settings_hash)
        return FilterVerdict(verdict(candidate, self.filter), self.settings_hash)


CLOSED = HashedFilter(None, TOPIC_DISABLED_HASH, FETCH_NONE)
OPEN = HashedFilter.of(ChannelSettings())
DEFAULT_KNOBS = Knobs()


@dataclass(frozen=True)
class ChannelRules:
    """What holds for one channel, all layers considered."""

    enabled: bool
    """The switches of the channel and of all that it is in."""
    schedule: Knobs = DEFAULT_KNOBS
    base: HashedFilter = OPEN
    topics: Mapping[str, HashedFilter] = field(default_factory=dict[str, HashedFilter])
    """Only topics that differ from the channel."""
    on_delete: OnDelete = "keep"
    """What a deleted message leaves behind."""

    def judge(self, candidate: Candidate, *, topic: str = "") -> FilterVerdict:
        """Judge what was seen in a topic; empty for a message outside of any."""
        return self.topics.get(topic, self.base).judge(candidate)

    def hash_for(self, topic: str) -> str:
        """Return under which settings something in a topic is judged."""
        return self.topics.get(topic, self.base).settings_hash

    def fetch_for(self, topic: str) -> FetchRule:
        """Return what is downloaded of what is kept in a topic."""
        return self.topics.get(topic, self.base).fetch

    @property
    def fetches(self) -> bool:
        """Whether anything of the channel is downloaded."""
        return any(each.fetch.what != "none" for each in (self.base, *self.topics.values()))

    def lenses(self, offered: Collection[Lens]) -> tuple[Lens, ...]:
        """Return what to ask the platform for: the narrowest of its lenses that show all that can be kept.

        `documents` shows files other than photos, `photos` shows pictures, and links need `everything`. Files
        are always asked for through `documents`, pictures too: whether a picture that was sent as a file
        counts as a photo differs between platforms, so a filter for pictures only uses both lenses.
        A filter for pictures and other files reads everything: one call instead of two.
        Where other files are downloaded, photos are read although filters reject them: they become covers.
        """
        on = [(each.filter, each.fetch) for each in (self.base, *self.topics.values()) if each.filter]
        keeps_pictures = any(by.may_keep_pictures() for by, _ in on)
        wanted: set[Lens] = {"documents"}
        if keeps_pictures or any(fetch.what == "all" and by.may_keep_others() for by, fetch in on):
            wanted.add("photos")
        mixed = keeps_pictures and any(by.may_keep_others() for by, _ in on)
        if mixed or any(by.link_patterns for by, _ in on) or not wanted <= set(offered):
            return ("everything",)
        return tuple(sorted(wanted))


def build_rules(
    layers: Sequence[ChannelSettings],
    *,
    enabled: bool = True,
    topics: Sequence[TopicLayer] = (),
    knobs: Knobs,
) -> ChannelRules:
    """Merge the layers of a channel: everything's, its parents' from the outermost inwards, its own."""
    merged = merge_layers(layers)
    return ChannelRules(
        enabled=enabled,
        schedule=set_knobs(knobs, merged),
        base=HashedFilter.of(merged),
        on_delete=merged.on_delete or "keep",
        topics={topic.key: _hashed_filter(merged, topic) for topic in topics},
    )


def set_knobs(knobs: Knobs, settings: ChannelSettings) -> Knobs:
    """Return the knobs with what settings say of them."""
    names = [knob.name for knob in fields(Knobs)]
    return replace(knobs, **{name: value for name in names if (value := getattr(settings, name)) is not None})


def _hashed_filter(merged: ChannelSettings, topic: TopicLayer) -> HashedFilter:
    return HashedFilter.of(merge_layers([merged, topic.settings])) if topic.enabled else CLOSED
