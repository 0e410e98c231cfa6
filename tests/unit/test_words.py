"""Everything that is stored as a reason or a state has words for people, in one place."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from headgate.domain.library.archive_sets.volume_headers import ProofReason
from headgate.domain.library.contents import Problem
from headgate.domain.library.inspections import FileState
from headgate.domain.listings.polling import PollReason
from headgate.domain.listings.rhythm import PollTiming
from headgate.domain.pacing import Cause
from headgate.domain.reminders.forecast import AtClose
from headgate.domain.reminders.run_results import DeliveryState, PartState, RunResult, RunState
from headgate.domain.streams.filters import Verdict
from headgate.domain.streams.schedule import DueReason, Reason, Tier
from headgate.domain.words.contents import PROBLEMS, PROOFS, problem_text
from headgate.domain.words.file_words import ABSENCES
from headgate.domain.words.frequency import FREQUENCIES, FrequencyChoice, chosen_tier
from headgate.domain.words.inspection_words import FILES
from headgate.domain.words.listing_words import TROUBLES, Trouble, check_reason_text
from headgate.domain.words.reasons import PACE_CAUSES, READING, STREAM_REASONS, VERDICTS, stream_reason_text
from headgate.domain.words.states import AT_CLOSE, STATES, TRIGGERS, state_text
from headgate.domain.words.times import relative
from headgate.storage.channels.channels import AccountState
from headgate.storage.channels.requests import ScanStatus
from headgate.storage.jobs.dead_letters import State as LetterState
from headgate.storage.notifications.push_addresses import PushState
from headgate.storage.reminders.reminders import ReminderState
from headgate.storage.sending.run_making import Trigger
from headgate.storage.streams.misses import State as MissState

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("literals", "words"),
    [
        ((Reason, DueReason), STREAM_REASONS),
        ((Cause,), PACE_CAUSES),
        ((Verdict,), VERDICTS),
        ((Trouble,), TROUBLES),
        ((Trigger,), TRIGGERS),
        ((AtClose,), AT_CLOSE),
        ((Problem,), PROBLEMS),
        ((ProofReason,), PROOFS),
        ((FileState,), ABSENCES),
        ((FileState,), FILES),
        (
            (
                *(RunState, RunResult, DeliveryState, PartState, ReminderState, PushState),
                *(AccountState, ScanStatus, LetterState, MissState),
            ),
            STATES,
        ),
    ],
)
def test_every_reason_and_state_has_words_and_none_is_made_up(
    literals: tuple[Any, ...], words: Collection[str]
) -> None:
    assert set(words) == {name for one in literals for name in get_args(one)}


def test_every_reason_of_a_listing_has_words_of_its_own() -> None:
    reasons = {*get_args(PollReason), *get_args(PollTiming)}
    assert not [one for one in reasons if check_reason_text(one) == one.replace("_", " ")]


def test_a_person_can_choose_every_frequency_or_leave_it_to_headgate() -> None:
    assert set(FREQUENCIES) == set(get_args(Tier))
    assert [chosen_tier(choice) for choice in get_args(FrequencyChoice)] == ["HOT", "WARM", "COLD", None]


def test_what_has_no_words_says_itself() -> None:
    assert stream_reason_text("brand_new_rule") == "brand new rule"
    assert state_text("half_done") == "half done"
    assert problem_text("took_too_long") == PROBLEMS["took_too_long"]
    assert problem_text("bent_corners") == "bent corners"


def test_the_reasons_for_reading_are_told_from_those_for_leaving_alone() -> None:
    assert set(get_args(Reason)) - READING == {"disabled", "breaker_open", "recent_idle", "cold", "caught_up"}


@pytest.mark.parametrize(
    ("age_s", "shown"),
    [
        (0, "just now"),
        (59, "59 s ago"),
        (150, "2 min ago"),
        (7300, "2 h ago"),
        (86400 * 59, "59 d ago"),
        (86400 * 70, "2 months ago"),
        (86400 * 800, "2 years ago"),
        (-5, "now"),
        (-90, "in 1 min"),
    ],
)
def test_times_are_relative(age_s: int, shown: str) -> None:
    assert relative(NOW - timedelta(seconds=age_s), NOW) == shown
