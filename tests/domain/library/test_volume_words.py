"""What people read of sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from headgate.domain.library.archive_sets.assembly import LoneReason, SetReason
from headgate.domain.library.archive_sets.completeness import (
    Completeness,
    CompletenessReason,
    KnownVolume,
    SetState,
    judge_set,
)
from headgate.domain.library.archive_sets.volumes import read_volume_name
from headgate.domain.words.volume_words import (
    ASSEMBLY_REASONS,
    SET_REASONS,
    SET_STATES,
    missing_text,
    volumes_text,
)

pytestmark = pytest.mark.once

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def state_of(*numbers: int, last: int = 100, total: int | None = None) -> SetState:
    volumes: list[KnownVolume] = []
    for number in numbers:
        name = read_volume_name(f"Pack.part{number:02}.rar")
        assert name is not None
        volumes.append(KnownVolume(name, last if number == numbers[-1] else 100))
    return judge_set(volumes, last_arrival_at=NOW - timedelta(days=2), now=NOW, proven_total=total)


def _missing(state: SetState) -> str:
    return missing_text(state.missing_names, count=state.missing_count)


def test_every_state_and_reason_has_words_and_none_is_made_up() -> None:
    assert set(SET_STATES) == set(get_args(Completeness))
    assert set(SET_REASONS) == set(get_args(CompletenessReason))
    assert set(ASSEMBLY_REASONS) == {*get_args(SetReason), *get_args(LoneReason)}


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (state_of(1, 2, 4, total=5), "3 of 5 volumes"),
        (state_of(1, total=5), "1 of 5 volumes"),
        (state_of(1, 2, 4), "3 volumes so far"),
        (state_of(1), "1 volume so far"),
        (state_of(1, 2, total=2), "2 volumes"),
        (state_of(1, 2, 3, last=40), "3 volumes"),
    ],
)
def test_a_set_says_how_many_volumes_are_there(state: SetState, text: str) -> None:
    assert volumes_text(here=len(state.present), total=state.total, complete=state.complete) == text


def test_the_missing_are_named() -> None:
    assert _missing(state_of(1, 4)) == "Pack.part02.rar, Pack.part03.rar"
    assert _missing(state_of(1, 2)) == ""


def test_a_long_list_is_shortened_unless_that_saves_nothing() -> None:
    named = [f"Pack.part{number:02}.rar" for number in range(2, 9)]
    assert _missing(state_of(1, 8)) == ", ".join(named[:6])
    assert _missing(state_of(1, 9)) == ", ".join(named[:5]) + " and 2 more"
