"""What commands print."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest

from headgate.cli.output import confirm, print_json, print_table, progress_bar, to_jsonable
from headgate.domain.errors import UserError

pytestmark = pytest.mark.once


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Thing:
    id: int
    made_at: datetime
    size_bytes: int


def test_times_uuids_paths_and_enumerations_have_a_plain_form() -> None:
    document = {
        "made_at": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
        "owner": UUID(int=1),
        "path": Path("/a"),
        "colour": Colour.RED,
        "age": timedelta(minutes=1),
        "flags": (True, None, 0.5),
    }
    assert to_jsonable(document) == {
        "made_at": "2030-01-02T03:04:05+00:00",
        "owner": "00000000-0000-0000-0000-000000000001",
        "path": "/a",
        "colour": "red",
        "age": 60.0,
        "flags": [True, None, 0.5],
    }


def test_identifiers_are_strings_and_counts_are_numbers() -> None:
    thing = Thing(id=7, made_at=datetime(2030, 1, 1, tzinfo=UTC), size_bytes=7)
    assert to_jsonable([thing])[0] == {"id": "7", "made_at": "2030-01-01T00:00:00+00:00", "size_bytes": 7}
    assert to_jsonable({"channel_id": 5, "position": 6, "count": 8}) == {
        "channel_id": "5",
        "position": "6",
        "count": 8,
    }


def test_a_number_that_would_lose_digits_is_a_string() -> None:
    assert to_jsonable({"n": 2**53 - 1, "m": 2**53}) == {"n": 2**53 - 1, "m": str(2**53)}


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no form in JSON"):
        to_jsonable({"x": object()})


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "Größe"})
    output = capsys.readouterr().out
    assert json.loads(output) == {"name": "Größe"}
    assert "Größe" in output


def test_a_table_into_a_pipe_is_plain_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    print_table(
        ["name", "made"], [(long, datetime(2030, 1, 1, tzinfo=UTC)), ("[b]", None)], title="[t] Things"
    )
    output = capsys.readouterr().out
    assert output.startswith("[t] Things\n")
    assert long in output
    assert "2030-01-01 00:00:00+00:00" in output
    assert "[b]" in output
    assert "\x1b" not in output


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name"], [], empty="There are no things yet.")
    assert capsys.readouterr().out == "There are no things yet.\n"


def test_a_progress_bar_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Copying", total=3) as advance:
        advance(3)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_without_a_terminal_nothing_is_agreed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(UserError, match="no terminal") as refusal:
        confirm("Delete it all?", yes=False)
    assert "--yes" in refusal.value.remedy


def test_yes_beforehand_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    confirm("Delete it all?", yes=True)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_who_says_no_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="Nothing was changed"):
        confirm("Delete it all?", yes=False)
