"""Texts with variables."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.errors import UserError
from headgate.domain.reminders.templates import VARIABLES, Values, check_template, fill, is_same_for_all

VALUES = Values.at(
    datetime(2026, 12, 1, 1, tzinfo=UTC),
    zone="Asia/Kuala_Lumpur",
    group="Choir",
    account="Main",
    number=3,
    total=1000,
)


def test_variables_are_filled_in_with_the_time_of_the_zone() -> None:
    text = "Dear {group}, {account} writes on {weekday}, {date} at {time} ({number} of {total})"
    assert fill(text, VALUES) == "Dear Choir, Main writes on Tuesday, 2026-12-01 at 09:00 (3 of 1000)"


def test_every_variable_has_a_value() -> None:
    assert list(Values._fields) == list(VARIABLES)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("{{group}}", "{group}"),
        ("{{{group}}}", "{Choir}"),
        ("{{}}", "{}"),
        ("a }} b {{ c", "a } b { c"),
        ("{group}{group}\n", "ChoirChoir\n"),
    ],
)
def test_doubled_braces_are_braces(text: str, filled: str) -> None:
    assert fill(text, VALUES) == filled


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dear {name}", "There is no variable {name}."),
        ("Dear {Group}", "There is no variable {Group}."),
        ("{group.x}", "There is no variable {group.x}."),
        ("{group!r:>9}", "There is no variable {group!r:>9}."),
        ("{}", "There is no variable {}."),
        ("Dear {group", "The brace { at character 6 is not part of a variable."),
        (":-}", "The brace } at character 3 is not part of a variable."),
        ("{group}}}}", "The brace } at character 10 is not part of a variable."),
        ("{" + "x" * 900 + "}", "There is no variable {" + "x" * 40 + "…}."),
    ],
)
def test_what_cannot_be_filled_in_is_named_with_all_variables(text: str, words: str) -> None:
    with pytest.raises(UserError) as refused:
        check_template(text)
    assert refused.value.message == words
    assert "{group}, {account}, {date}" in refused.value.remedy
    with pytest.raises(UserError, match=re.escape(words)):
        fill(text, VALUES)


def test_a_value_is_never_read_as_a_template() -> None:
    tricky = VALUES._replace(group="{account} {{ } {nothing}")
    assert fill("{group}!", tricky) == "{account} {{ } {nothing}!"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Hello", True),
        ("{date} {time} {weekday} {account} {total}", True),
        ("{{group}}", True),
        ("{group}", False),
        ("{date} {number}", False),
    ],
)
def test_a_text_without_a_variable_of_the_group_is_the_same_for_all(text: str, *, same: bool) -> None:
    assert is_same_for_all(text) is same


@given(st.text(st.sampled_from("{}ab \n")))
def test_a_text_with_its_braces_doubled_is_sent_as_it_was(text: str) -> None:
    assert fill(text.replace("{", "{{").replace("}", "}}"), VALUES) == text
