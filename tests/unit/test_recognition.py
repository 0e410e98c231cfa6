"""Which message of a history is one that may have been sent."""

from __future__ import annotations

import pytest

from headgate.domain.reminders.recognition import HistoryMessage, Sought, recognise

HISTORY = [
    HistoryMessage("1", "good morning"),
    HistoryMessage("2", " water the plants "),
    HistoryMessage("3", "look", "plants.jpg"),
    HistoryMessage("4", "twice"),
    HistoryMessage("5", "twice"),
    HistoryMessage("6", forwarded="99"),
]


@pytest.mark.parametrize(
    ("sought", "key"),
    [
        (Sought("water the plants"), "2"),
        (Sought("look", "plants.jpg"), "3"),
        (Sought("twice", claimed=frozenset({"4"})), "5"),
        (Sought(forwarded="99"), "6"),
        (Sought(message_key="4", rivals=3), "4"),
    ],
)
def test_a_message_that_can_only_be_the_sought_one_is_it(sought: Sought, key: str) -> None:
    found = recognise(sought, HISTORY)
    assert found is not None
    assert found.key == key


@pytest.mark.parametrize(
    "sought",
    [
        pytest.param(Sought("water the plants", rivals=1), id="another send may have left it"),
        pytest.param(Sought("water the plants", claimed=frozenset({"2"})), id="another send has left it"),
        pytest.param(Sought("twice"), id="two are alike"),
        pytest.param(Sought("look"), id="a text is no file"),
        pytest.param(Sought("look", "other.jpg"), id="another file"),
        pytest.param(Sought(), id="nothing to go by"),
        pytest.param(Sought(message_key="7"), id="not there"),
    ],
)
def test_any_doubt_is_no_proof(sought: Sought) -> None:
    assert recognise(sought, HISTORY) is None
