"""What is downloaded of what is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.library.fetching import FETCH_ALL, FETCH_NONE, FetchRule
from headgate.domain.streams.channel_settings import ChannelSettings, merge_layers
from headgate.domain.streams.rules import TopicLayer, build_rules
from headgate.domain.streams.schedule_knobs import Knobs

RULES = st.builds(FetchRule, st.sampled_from(["none", "pictures", "all"]), st.integers(0, 100))


def test_everything_that_is_kept_is_downloaded_unless_settings_say_otherwise() -> None:
    assert FetchRule.of(ChannelSettings()) == FETCH_ALL
    assert FETCH_ALL.wants(mime_type="video/mp4", file_name="a.mp4", size_bytes=2**40)


def test_an_inner_layer_replaces_what_an_outer_one_downloads() -> None:
    outer, inner = ChannelSettings(fetch="pictures", fetch_max_bytes=10), ChannelSettings(fetch="none")
    assert FetchRule.of(merge_layers([outer, inner])) == FetchRule("none", 10)


def test_a_picture_is_told_by_its_type_and_without_one_by_its_name() -> None:
    pictures = FetchRule("pictures")
    assert pictures.wants(mime_type="image/png", file_name="", size_bytes=1)
    assert pictures.wants(mime_type="application/octet-stream", file_name="A.JPG", size_bytes=1)
    assert not pictures.wants(mime_type="application/zip", file_name="a.jpg", size_bytes=1)
    assert not pictures.wants(mime_type="", file_name="a.zip", size_bytes=1)


def test_what_has_no_known_size_passes_the_limit() -> None:
    limited = FetchRule("all", 100)
    assert limited.wants(mime_type="", file_name="a.zip", size_bytes=0)
    assert limited.wants(mime_type="", file_name="a.zip", size_bytes=100)
    assert not limited.wants(mime_type="", file_name="a.zip", size_bytes=101)


@given(RULES, RULES)
def test_rules_that_differ_have_another_hash_so_that_everything_is_judged_again(
    one: FetchRule, other: FetchRule
) -> None:
    assert (one == other) == (one.hash_suffix == other.hash_suffix)


def test_a_channel_downloads_if_one_of_its_topics_does() -> None:
    topic = TopicLayer("t1", enabled=True, settings=ChannelSettings(fetch="pictures"))
    off = TopicLayer("t1", enabled=False, settings=ChannelSettings(fetch="pictures"))
    none = [ChannelSettings(fetch="none")]
    assert build_rules(none, topics=[topic], knobs=Knobs()).fetches
    assert not build_rules(none, topics=[off], knobs=Knobs()).fetches
    assert build_rules(none, topics=[off], knobs=Knobs()).topics["t1"].fetch == FETCH_NONE
