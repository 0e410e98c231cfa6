"""How listings stand, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from headgate.domain.breaker import Breaker
from headgate.domain.listings.polling import PollReason
from headgate.domain.listings.rhythm import PollTiming
from headgate.domain.streams.schedule_knobs import Knobs
from headgate.domain.words.listing_words import (
    ListingHealth,
    breaker_text,
    check_reason_text,
    frequency_sentence,
    health_of,
    interval_text,
)

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
WELL = ListingHealth(enabled=True, gone=False, looked=True, watch=Breaker(), host=Breaker())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30, "every minute"),
        (300, "every 5 minutes"),
        (3600, "once an hour"),
        (14_400, "every 4 hours"),
        (86_400, "once a day"),
        (604_800, "every 7 days"),
    ],
)
def test_intervals_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert interval_text(seconds) == text


def test_a_frequency_is_said_with_its_reason() -> None:
    often = (
        "Checked every 5 minutes, because it publishes about every day,"
        " and the next one is expected about now."
    )
    assert frequency_sentence("HOT", "daily_due", knobs=Knobs()) == often
    assert (
        frequency_sentence("COLD", "silent", knobs=Knobs(), pinned=True)
        == "Checked every 4 hours, because a person chose this."
    )
    assert frequency_sentence("WARM", "unheard of", knobs=Knobs(normal_s=600)) == "Checked every 10 minutes."
    assert "covers all its series" in frequency_sentence("HOT", "new", knobs=Knobs(), swept=True)


@pytest.mark.parametrize("reason", [*get_args(PollReason), *get_args(PollTiming)])
def test_every_reason_has_words(reason: str) -> None:
    assert check_reason_text(reason) != reason.replace("_", " ")


def test_a_breaker_is_told_by_what_happens_next() -> None:
    assert breaker_text(Breaker(), now=NOW) == ""
    assert breaker_text(Breaker(1), now=NOW) == "It failed once and is retried as usual."
    assert "rests for a while" in breaker_text(Breaker(5, 1, LATER), now=NOW)
    assert breaker_text(Breaker(5, 1, NOW), now=LATER).endswith(
        "the next try decides whether it works again."
    )


@pytest.mark.parametrize(
    ("standing", "kind", "word"),
    [
        (WELL, "good", "OK"),
        (replace(WELL, has_reader=False), "bad", "no account"),
        (ListingHealth(False, True, True, Breaker(5), Breaker()), "off", "switched off"),
        (ListingHealth(True, True, True, Breaker(5), Breaker()), "bad", "gone"),
        (ListingHealth(True, False, True, Breaker(1), Breaker(5, 1, LATER)), "bad", "site away"),
        (ListingHealth(True, False, True, Breaker(5, 1, LATER), Breaker()), "bad", "failing"),
        (ListingHealth(True, False, True, Breaker(2), Breaker(2)), "warn", "failing"),
        (ListingHealth(True, False, True, Breaker(), Breaker(2)), "warn", "site failing"),
        (ListingHealth(True, False, False, Breaker(), Breaker()), "new", "not read yet"),
    ],
)
def test_the_first_thing_that_is_wrong_is_told(standing: ListingHealth, kind: str, word: str) -> None:
    health = health_of(standing, now=NOW)
    assert (health.kind, health.word) == (kind, word)
