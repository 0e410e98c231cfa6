"""Every reason that is stored is told to people in words."""

from __future__ import annotations

from typing import get_args

from headgate.cli.phrases import READING, REASONS
from headgate.domain.listings.polling import PollReason
from headgate.domain.streams.schedule import DueReason, Reason


def test_every_reason_of_the_schedule_has_words_and_none_is_made_up() -> None:
    assert set(REASONS) == {*get_args(Reason), *get_args(DueReason), *get_args(PollReason)}


def test_the_reasons_for_reading_are_told_from_those_for_leaving_alone() -> None:
    assert set(get_args(Reason)) - READING == {"disabled", "breaker_open", "recent_idle", "cold", "caught_up"}
