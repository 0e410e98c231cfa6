"""Settings in layers, the filter they make, and its verdicts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settings_strategies import CANDIDATES, LAYERS

from headgate.domain.streams.channel_settings import ChannelSettings, WrongSettings, merge_layers
from headgate.domain.streams.filters import Candidate, Filter, effective_filter, verdict
from headgate.domain.streams.schedule_knobs import IntakeKnobs, Knobs
from headgate.kernel.settings import IntakeSettings

pytestmark = pytest.mark.once

KNOBS = [knob.name for knob in fields(Knobs)]


def _filter(**settings: Any) -> Filter:
    return effective_filter(ChannelSettings(**settings))


def _verdict(candidate: Candidate, **settings: Any) -> str:
    return verdict(candidate, _filter(**settings))


@given(st.lists(LAYERS, max_size=4))
def test_a_later_layer_replaces_what_it_sets_and_nothing_else(layers: list[ChannelSettings]) -> None:
    merged = merge_layers(layers)
    for name in ChannelSettings.model_fields:
        values = [value for layer in layers if (value := getattr(layer, name)) is not None]
        assert getattr(merged, name) == (values[-1] if values else None)


@given(LAYERS, LAYERS, LAYERS)
def test_merging_is_associative(
    first: ChannelSettings, second: ChannelSettings, third: ChannelSettings
) -> None:
    together = merge_layers([first, second, third])
    assert together.dump() == merge_layers([merge_layers([first, second]), third]).dump()


@given(LAYERS)
def test_a_layer_survives_being_stored(layer: ChannelSettings) -> None:
    assert ChannelSettings.read(layer.dump()) == (layer, [])


@given(LAYERS)
def test_the_hash_is_of_the_filter_and_not_of_the_knobs_or_the_order(layer: ChannelSettings) -> None:
    other = layer.model_copy(
        update=dict.fromkeys(KNOBS)
        | {"extensions": layer.extensions and tuple(reversed(layer.extensions * 2))}
    )
    assert effective_filter(layer).settings_hash == effective_filter(other).settings_hash


@given(LAYERS, LAYERS)
def test_different_filters_have_different_hashes(one: ChannelSettings, other: ChannelSettings) -> None:
    first, second = effective_filter(one), effective_filter(other)
    assert (first == second) == (first.settings_hash == second.settings_hash)


def test_the_hash_stays_the_same_over_processes_and_versions() -> None:
    assert Filter().settings_hash == "ee86ab5963163261"
    assert _filter(extensions=["zip", "rar"], authors=["ada", "ben"]).settings_hash == "a7bbc6db68e58b16"


@given(CANDIDATES)
def test_without_settings_all_files_are_kept_and_no_links(candidate: Candidate) -> None:
    assert verdict(candidate, Filter()) == ("link_pattern" if candidate.url else "kept")


@given(CANDIDATES, LAYERS)
def test_lifting_every_restriction_keeps_everything(candidate: Candidate, layer: ChannelSettings) -> None:
    lifted = ChannelSettings(
        mime_types=(),
        extensions=(),
        excluded_extensions=(),
        min_size_bytes=0,
        max_size_bytes=0,
        authors=(),
        excluded_authors=(),
        bots=True,
        webhooks=True,
        link_patterns=("*",),
    )
    assert verdict(candidate, effective_filter(merge_layers([layer, lifted]))) == "kept"


@pytest.mark.parametrize(
    ("candidate", "settings", "expected"),
    [
        (Candidate(file_name="a.zip"), {"extensions": ["zip"]}, "kept"),
        (Candidate(file_name="A.ZIP "), {"extensions": [".Zip"]}, "kept"),
        (Candidate(file_name="a.tar.gz"), {"extensions": ["tar.gz"]}, "kept"),
        (Candidate(file_name="azip"), {"extensions": ["zip"]}, "extension"),
        (Candidate(file_name="a.zip"), {"excluded_extensions": ["zip"]}, "extension"),
        (Candidate(), {"excluded_extensions": ["zip"]}, "kept"),
        (Candidate(), {"extensions": ["zip"]}, "extension"),
        (Candidate(mime_type="image/jpeg"), {"extensions": ["jpg"]}, "kept"),
        (Candidate(mime_type="image/jpeg"), {"excluded_extensions": ["jpeg"]}, "extension"),
        (Candidate(mime_type="image/png; x=1"), {"mime_types": ["image/*"]}, "kept"),
        (Candidate(mime_type="IMAGE/PNG"), {"mime_types": ["image/png"]}, "kept"),
        (Candidate(mime_type="video/mp4"), {"mime_types": ["image/*"]}, "mime_type"),
        (Candidate(file_name="a.mp4"), {"mime_types": ["video/*"]}, "kept"),
        (Candidate(file_name="a.mp4", mime_type="text/plain"), {"mime_types": ["video/*"]}, "mime_type"),
        (
            Candidate(file_name="a.mp4", mime_type="application/octet-stream"),
            {"mime_types": ["video/*"]},
            "kept",
        ),
        (Candidate(file_name="mystery"), {"mime_types": ["video/*"]}, "mime_type"),
        (Candidate(file_name="mystery"), {"mime_types": ["*"]}, "kept"),
        (Candidate(size_bytes=9), {"min_size_bytes": 10}, "too_small"),
        (Candidate(size_bytes=10), {"min_size_bytes": 10, "max_size_bytes": 10}, "kept"),
        (Candidate(size_bytes=11), {"max_size_bytes": 10}, "too_large"),
        (Candidate(size_bytes=0), {"min_size_bytes": 10, "max_size_bytes": 20}, "kept"),
        (Candidate(size_bytes=11), {"max_size_bytes": 0}, "kept"),
        (Candidate(author="Ada"), {"authors": ["ada"]}, "kept"),
        (Candidate(author="Ada"), {"excluded_authors": ["ADA"]}, "author"),
        (Candidate(author=""), {"authors": ["ada"]}, "author"),
        (Candidate(from_bot=True), {"bots": False}, "bot"),
        (Candidate(from_bot=True, from_webhook=True), {"bots": False}, "kept"),
        (Candidate(from_bot=True, from_webhook=True), {"webhooks": False}, "webhook"),
        (Candidate(url="https://mega.nz/a"), {"link_patterns": ["mega.nz/*"]}, "kept"),
        (Candidate(url="https://mega.nz/a"), {"link_patterns": ["*.example/*"]}, "link_pattern"),
        (Candidate(url="https://mega.nz/a"), {"link_patterns": ["*"], "extensions": ["zip"]}, "kept"),
        (Candidate(url="https://mega.nz/a", from_bot=True), {"link_patterns": ["*"], "bots": False}, "bot"),
    ],
)
def test_verdicts(candidate: Candidate, settings: dict[str, Any], expected: str) -> None:
    assert _verdict(candidate, **settings) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"every_nth": 0}, "every_nth should be greater than or equal to 1 (it is 0)."),
        ({"idle_threshold": "many"}, "idle_threshold should be a valid integer"),
        ({"often_s": 59}, "often_s should be greater than or equal to 60 (it is 59)."),
        ({"often_s": float("nan")}, "often_s should be"),
        ({"skip_window_s": -1}, "skip_window_s should be greater than or equal to 0 (it is -1)."),
        ({"often_s": 900, "normal_s": 600}, "normal_s must not be below often_s, which is 900 (it is 600)."),
        (
            {"normal_s": 900, "rarely_s": 600},
            "rarely_s must not be below normal_s, which is 900 (it is 600).",
        ),
        ({"min_size_bytes": 9, "max_size_bytes": 8}, "max_size_bytes must not be below min_size_bytes"),
        ({"max_size_bytes": -1}, "max_size_bytes should be greater than or equal to 0"),
        ({"mime_types": ["zip"]}, "mime_types must be like image/png, image/* or * (it is 'zip')."),
        ({"mime_types": "zip"}, "mime_types should be a list (it is 'zip')."),
        ({"extensions": ["a/b"]}, "extensions must be like zip or tar.gz (it is 'a/b')."),
        ({"extensions": ["zip"] * 201}, "extensions"),
        ({"authors": [" "]}, "authors must have 1 to 200 characters"),
        ({"link_patterns": ["re:("]}, "link_patterns is not a regular expression"),
        ({"bots": "perhaps"}, "bots should be a valid boolean"),
        ({"mimetypes": []}, "There is no setting mimetypes."),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence_that_names_the_field(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(WrongSettings) as refused:
        ChannelSettings.parse(settings)
    assert sentence in str(refused.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(WrongSettings) as refused:
        ChannelSettings.parse({"every_nth": 0, "often_s": 1})
    assert str(refused.value).count("\n") == 1


def test_a_stored_field_that_is_not_understood_any_more_is_as_if_unset() -> None:
    settings, faults = ChannelSettings.read({"extensions": ["zip"], "every_nth": 0, "colour": "red"})
    assert settings == ChannelSettings(extensions=("zip",))
    assert len(faults) == 2


def test_every_knob_can_be_set_per_deployment_and_per_channel_within_the_same_limits() -> None:
    deployment, channel = IntakeSettings.model_json_schema(), ChannelSettings.model_json_schema()
    for name in KNOBS:
        (number,) = [kind for kind in channel["properties"][name]["anyOf"] if kind["type"] != "null"]
        limits = {key: deployment["properties"][name][key] for key in ("minimum", "maximum", "type")}
        assert limits == {key: number[key] for key in ("minimum", "maximum", "type")}
    assert IntakeKnobs(**IntakeSettings().model_dump()) == IntakeKnobs()
