"""`headgate explain`: everything about a channel, true and in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from ledger import Ledger

from headgate.cli.phrases import NAME_WIDTH
from headgate.domain.words.fields import FIELDS
from headgate.domain.words.times import duration, share

SNOWFLAKE = 1_180_000_000_000_000_000


@pytest.fixture
def forge(ledger: Ledger) -> Ledger:
    """A channel that was read but for a hole, a tip and its oldest history."""
    ledger.follow("forge")
    now = ledger.now
    ledger.rows(
        "update stream set head = 4211, head_checked_at = $1, due_at = $2, reason = 'caught_up',"
        " tier = 'HOT', arrival_rate = 12.5, message_count = 15,"
        " total_messages_scanned = 3120, head_checks = 412, reads = 38, reads_saved = 371, scanned_at = $1",
        now - timedelta(minutes=2),
        now + timedelta(minutes=50),
    )
    ledger.rows("update coverage set ranges = '{[812,2400),[2600,4180)}'")
    return ledger


def lines_of(output: str) -> dict[str, str]:
    """Return the facts of an output by name, the first of each; lines that go on belong to the one above."""
    facts: list[tuple[str, str]] = []
    for line in filter(None, output.splitlines()):
        name, value = line[:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()
        if not name and facts:
            name, above = facts.pop()
            value = f"{above} {value}"
        facts.append((name, value))
    return dict(reversed(facts))


def add_items(ledger: Ledger, kind: str, count: int) -> None:
    ledger.rows(
        "insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)"
        " select gen_random_uuid(), c.id, $1 || n, $1, 'One', 1, $2, $2"
        " from channel c, generate_series(1, $3) n",
        kind,
        ledger.now,
        count,
    )


def test_what_was_found_is_one_sentence(forge: Ledger) -> None:
    add_items(forge, "clip", 42)
    assert "Found 42 clips across 15 messages; 3,120 messages read." in forge.said("explain", "forge")
    add_items(forge, "package", 1)
    assert "Found 43 items across 15 messages" in forge.said("explain", "forge")


def test_coverage_is_a_bar_with_bounds_and_ranges(forge: Ledger) -> None:
    facts = lines_of(forge.said("explain", "forge"))
    assert facts["everything"].startswith("…█")
    assert facts["read"] == "75.2 %"
    assert facts["complete"].startswith("from 2600 to 4179, as of ")
    assert "older messages were not read yet" in facts["everything"]
    assert (facts["newest read"], facts["oldest read"]) == ("4179", "812")
    assert facts["ranges"] == "2600–4179, 812–2399"


def test_the_facts_are_in_plain_words(forge: Ledger) -> None:
    facts = lines_of(forge.said("explain", "forge"))
    assert facts["read by"] == "atlas"
    assert facts["atlas"] == "OK"
    assert facts["checked"] == "often (automatic); 12.5 new messages an hour"
    assert facts["next check"].startswith("in 49 min")
    assert facts["next check"].endswith("everything up to the newest message was read")
    assert (facts["messages with finds"], facts["messages read"]) == ("15", "3,120")


def test_the_mechanism_is_shown_only_when_asked_for(forge: Ledger) -> None:
    words = re.compile(r"\b(HOT|WARM|COLD|tier|head|lens(es)?|floor|sweep|sighting|watch|turn|hole|miss)\b")
    assert not words.search(forge.said("explain", "forge"))
    facts = lines_of(forge.said("explain", "forge", "--verbose"))
    assert facts["tier"] == "HOT; 0 idle scans in a row"
    assert facts["floor to head"] == "0 to 4211"
    assert facts["calls spent"] == "38 for reading, 412 for head checks"
    assert facts["calls saved"] == "371 for reading"


def test_documents_have_plain_names(forge: Ledger) -> None:
    document = forge.document("explain", "forge")
    assert document["frequency"] == "often"
    names = set(_names(document)) | set(_names(forge.document("channel", "show", "forge")))
    assert not names & set(FIELDS)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _names(inner)


def test_positions_and_ids_are_strings_in_json(forge: Ledger) -> None:
    forge.rows("update stream set head = $1, floor = $2", SNOWFLAKE + 100, SNOWFLAKE)
    forge.rows(f"update coverage set ranges = '{{[{SNOWFLAKE},{SNOWFLAKE + 40})}}'")
    document = forge.document("explain", "forge")
    assert (document["newest_position"], document["start_position"]) == (str(SNOWFLAKE + 100), str(SNOWFLAKE))
    (coverage,) = document["coverage"]
    assert coverage["newest_read_position"] == str(SNOWFLAKE + 39)
    assert coverage["oldest_read_position"] == str(SNOWFLAKE)
    assert coverage["ranges"] == [{"first_position": str(SNOWFLAKE), "last_position": str(SNOWFLAKE + 39)}]
    (hole,) = document["gaps"]
    assert (hole["first_position"], hole["last_position"]) == (str(SNOWFLAKE + 40), str(SNOWFLAKE + 100))


def test_holes_are_what_coverage_leaves_with_failed_tries(forge: Ledger) -> None:
    forge.rows(
        "insert into hole select channel_id, 'everything', '[2400,2600)', 3, $1, 'Transient', 'no answer', $2"
        " from stream",
        forge.now + timedelta(minutes=30),
        forge.now,
    )
    holes = forge.document("explain", "forge")["gaps"]
    assert [(hole["first_position"], hole["last_position"], hole["attempts"]) for hole in holes] == [
        ("4180", "4211", 0),
        ("2400", "2599", 3),
        ("0", "811", 0),
    ]
    output = forge.said("explain", "forge")
    assert "2400–2599: 3 failed tries, next in 29 min;" in output
    assert "Gaps: 3 ranges to read" in output


def test_a_wider_lens_covers_a_narrower_one(forge: Ledger) -> None:
    forge.rows("update stream set lenses = '{documents}'")
    forge.rows(
        "insert into coverage (channel_id, lens, ranges)"
        " select channel_id, 'documents', '{[2400,2600)}' from stream"
    )
    lenses = {one["content"]: one for one in forge.document("explain", "forge")["coverage"]}
    assert lenses["documents"]["ranges"] == [{"first_position": "812", "last_position": "4179"}]
    assert (lenses["documents"]["wanted"], lenses["everything"]["wanted"]) == (True, False)


def test_a_channel_that_was_read_whole_has_no_holes(forge: Ledger) -> None:
    forge.rows("update coverage set ranges = '{[0,4212)}'")
    output = forge.said("explain", "forge")
    assert "No gaps" in output
    assert "100 %" in output


def test_misses_rechecks_and_judging_are_shown(forge: Ledger) -> None:
    for state, attempts in (("open", 2), ("abandoned", 5)):
        forge.rows(
            "insert into miss (id, channel_id, message_key, stage, error_class, error_message, attempts,"
            " state, first_at, last_at)"
            " select $1, channel_id, $2, 'ingest', 'Malformed', 'a broken archive', $3, $2, $4, $4"
            " from stream",
            uuid4(),
            state,
            attempts,
            forge.now,
        )
    forge.rows(
        "insert into recheck (channel_id, message_key, reason, asked_at)"
        " select channel_id, '7', 'edited', $1 from stream",
        forge.now,
    )
    forge.said("channel", "rescan", "forge")
    output = forge.said("explain", "forge")
    assert "Failed items: 1 open (storing), 1 given up (storing)" in output
    assert "given up until a person retries it" in " ".join(output.split())
    facts = lines_of(output)
    assert facts["messages to reread"].startswith("1 waiting")
    assert facts["changed settings"].startswith("being applied: 0 checked")


def test_an_open_breaker_and_a_stand_by_are_told(forge: Ledger) -> None:
    forge.said("account", "add", "simulated", "beacon", "--answer", "code=12345")
    forge.said("channel", "add", "beacon", "forge")
    forge.rows(
        "update watch set open_until = $1, failures = 3, error_class = 'Gone',"
        " error_message = 'it is private' where account_id = (select id from account where name = 'beacon')",
        forge.now + timedelta(hours=2),
    )
    facts = lines_of(forge.said("explain", "forge"))
    assert facts["read by"] == "atlas; beacon is on standby"
    assert facts["beacon"].startswith("It failed 3 times in a row and rests for a while")
    assert facts["beacon"].endswith("Gone: it is private")


def test_decisions_and_scans_are_told_with_their_reasons(forge: Ledger) -> None:
    forge.rows(
        "insert into decision select channel_id, 1, 'recent_idle', $1, $1, 7 from stream",
        forge.now - timedelta(minutes=3),
    )
    forge.said("channel", "scan", "forge")
    forge.rows("update scan set pages = 12, messages = 1180, items = 31, head_calls = 1, read_calls = 12")
    forge.said("channel", "disable", "forge")
    output = " ".join(forge.said("explain", "forge").split())
    assert "3 min ago not read 7 times: it was read a moment ago" in output
    assert "cancelled: Channel scanning disabled for this channel; started by a person:" in output
    assert "12 pages, 1,180 messages, 31 items, 13 calls in" in output
    (scan,) = forge.document("explain", "forge")["scans"]
    assert (scan["trigger"], scan["reason"], scan["read_calls"]) == ("person", "asked", 12)


def test_a_channel_that_was_never_looked_at_is_explained_too(ledger: Ledger) -> None:
    ledger.follow("attic")
    output = ledger.said("explain", "attic")
    assert "not known yet" in output
    assert "It was never scanned." in output
    assert "now; it was never read before" in output


@pytest.mark.once
def test_shares_never_say_more_than_is_true() -> None:
    assert share(0.99999, complete=False) == "99.9 %"
    assert share(1.0, complete=True) == "100 %"
    assert share(0.00001, complete=False) == "0.1 %"
    assert share(0.0, complete=False) == "0 %"


@pytest.mark.once
def test_a_duration_is_short() -> None:
    assert [duration(seconds) for seconds in (0.25, 44, 660, 9000)] == ["0.2 s", "44 s", "11 min", "2.5 h"]
