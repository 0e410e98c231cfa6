"""The rules of a channel: its switches, its topics, its knobs and its lenses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settings_strategies import CANDIDATES, LAYERS

from headgate.domain.file_types import is_picture, type_by_name
from headgate.domain.library.fetching import FetchRule
from headgate.domain.streams.channel_settings import ChannelSettings, merge_layers
from headgate.domain.streams.filters import Candidate, effective_filter, verdict
from headgate.domain.streams.messages import Lens
from headgate.domain.streams.rules import TOPIC_DISABLED_HASH, TopicLayer, build_rules
from headgate.domain.streams.schedule_knobs import Knobs

pytestmark = pytest.mark.once

ALL: tuple[Lens, ...] = ("documents", "photos", "everything")
TOPICS = st.lists(
    st.builds(TopicLayer, st.sampled_from(["t1", "t2", "t3"]), st.booleans(), LAYERS),
    max_size=3,
    unique_by=lambda topic: topic.key,
)


def _lenses_that_show(candidate: Candidate) -> list[set[Lens]]:
    """Return, for each way in which platforms sort, the lenses through which something is found."""
    if candidate.url:
        return [{"everything"}]
    if not is_picture(candidate.mime_type):
        return [{"documents", "everything"}]
    if not candidate.file_name:
        return [{"photos", "everything"}]
    named = type_by_name(candidate.file_name)
    by_file: set[Lens] = {"documents", "everything"}
    return [by_file, {"photos", "everything"}] if is_picture(named) else [by_file]


@given(LAYERS, TOPICS, CANDIDATES, st.sampled_from(["", "t1", "t2", "t3"]))
def test_whatever_is_kept_is_found_through_one_of_the_lenses(
    layer: ChannelSettings, topics: list[TopicLayer], candidate: Candidate, topic: str
) -> None:
    rules = build_rules([layer], topics=topics, knobs=Knobs())
    lenses = set(rules.lenses(ALL))
    if rules.judge(candidate, topic=topic).verdict == "kept":
        assert all(lenses & showing for showing in _lenses_that_show(candidate))


@given(LAYERS, st.sets(st.sampled_from(ALL)).map(lambda lenses: lenses | {"everything"}))
def test_only_what_is_offered_is_asked_for(layer: ChannelSettings, offered: set[Lens]) -> None:
    lenses = build_rules([layer], knobs=Knobs()).lenses(offered)
    assert lenses and set(lenses) <= offered
    assert "everything" not in lenses or len(lenses) == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ChannelSettings(), ("everything",)),
        (ChannelSettings(extensions=("zip", "rar", "7z"), fetch="none"), ("documents",)),
        (ChannelSettings(mime_types=("application/*", "video/*"), fetch="pictures"), ("documents",)),
        (ChannelSettings(mime_types=("image/*",)), ("documents", "photos")),
        (ChannelSettings(extensions=("zip", "png")), ("everything",)),
        (ChannelSettings(extensions=("jpg", "png")), ("documents", "photos")),
        (ChannelSettings(extensions=("zip",), link_patterns=("mega.nz/*",)), ("everything",)),
    ],
)
def test_the_lenses_are_the_narrowest_that_suffice(
    settings: ChannelSettings, expected: tuple[Lens, ...]
) -> None:
    assert build_rules([settings], knobs=Knobs()).lenses(ALL) == expected


def test_the_lenses_are_the_union_of_all_topics_that_are_on() -> None:
    archives = ChannelSettings(extensions=("zip",), fetch="none")
    pictures = TopicLayer("t1", enabled=True, settings=ChannelSettings(extensions=("png",)))
    links = TopicLayer("t2", enabled=False, settings=ChannelSettings(link_patterns=("*",)))
    assert build_rules([archives], topics=[links], knobs=Knobs()).lenses(ALL) == ("documents",)
    assert build_rules([archives], topics=[pictures, links], knobs=Knobs()).lenses(ALL) == ("everything",)


def test_photos_are_read_as_covers_of_files_that_are_downloaded() -> None:
    archives = ChannelSettings(extensions=("zip",))
    listed = TopicLayer("t1", enabled=True, settings=ChannelSettings(fetch="none"))
    assert build_rules([archives], topics=[listed], knobs=Knobs()).lenses(ALL) == ("documents", "photos")
    unread = TopicLayer("t1", enabled=False, settings=ChannelSettings())
    off = ChannelSettings(extensions=("zip",), fetch="none")
    assert build_rules([off], topics=[unread], knobs=Knobs()).lenses(ALL) == ("documents",)


@given(CANDIDATES, LAYERS, LAYERS, LAYERS)
def test_a_topic_is_judged_by_its_own_layer_on_top_of_the_channels(
    candidate: Candidate, everything: ChannelSettings, channel: ChannelSettings, topic: ChannelSettings
) -> None:
    rules = build_rules(
        [everything, channel], topics=[TopicLayer("t1", enabled=True, settings=topic)], knobs=Knobs()
    )
    by = effective_filter(merge_layers([everything, channel, topic]))
    judged = rules.judge(candidate, topic="t1")
    fetch = FetchRule.of(merge_layers([everything, channel, topic]))
    expected_hash = by.settings_hash + fetch.hash_suffix
    assert (judged.verdict, judged.settings_hash) == (verdict(candidate, by), expected_hash)
    assert rules.judge(candidate, topic="t9") == rules.judge(candidate)


@given(CANDIDATES, LAYERS)
def test_nothing_of_a_disabled_topic_is_kept(candidate: Candidate, layer: ChannelSettings) -> None:
    topic = TopicLayer("t1", enabled=False, settings=ChannelSettings())
    judged = build_rules([layer], topics=[topic], knobs=Knobs()).judge(candidate, topic="t1")
    assert (judged.verdict, judged.settings_hash) == ("topic_disabled", TOPIC_DISABLED_HASH)


def test_knobs_come_from_the_innermost_layer_that_sets_them() -> None:
    layers = [ChannelSettings(every_nth=2, often_s=60), ChannelSettings(often_s=120)]
    assert build_rules(layers, knobs=Knobs(rarely_s=7200)).schedule == Knobs(
        every_nth=2, often_s=120, rarely_s=7200
    )
