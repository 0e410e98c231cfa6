"""What is said of a stream, its items and the calls that it cost, place by place.

`{channel}` is the key of the only stream.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from figures import Figure, Find, Page, moment, number, only, plain

from headgate.web.wording import share

EXPLAIN = "headgate explain {channel}"
CHANNELS = "headgate channel list"
MISSES = "headgate failed list"
ACCOUNTS = "headgate account list"
API = "/api/v1/channels"
ITEMS = "/api/v1/items?limit=200"
PAGE = "/channels"
LIBRARY = "/"
COUNT = "/library/count"
SHELF = "/api/v1/library"


def explained(name: str) -> Find:
    return lambda one: one[name]


def read(name: str) -> Find:
    """Return how `explain` says how much was read."""
    return lambda one: one["progress"][name]


def listed(name: str) -> Find:
    return lambda lines: only(lines, kind="stream")[name]


def listed_read(name: str) -> Find:
    return lambda lines: only(lines, kind="stream")["progress"][name]


def answered(name: str) -> Find:
    return lambda answer: only(answer["channels"], kind="stream")[name]


def position(find: Find) -> Find:
    """Return a position: often a string in JSON, because numbers lose digits there."""
    return lambda shown: None if find(shown) is None else int(find(shown))


def worded(find: Find) -> Find:
    """Return a share as the page words it."""
    return lambda shown: "none" if find(shown) is None else plain(share(find(shown)))


def share_on_page(page: Page) -> str:
    """Return the share that stands in the cell; a dash or a word stands there where there is none."""
    text = cell("covered")(page)
    return text if text.endswith("%") else "none"


def complete_on_page(end: int) -> Find:
    """Return where the range without a hole begins or ends; the page says so on hover."""

    def find(page: Page) -> str | None:
        ranges = re.findall(r'title="Complete from (\d+) to (\d+) as of', page.html)
        return ranges[0][end] if ranges else None

    return find


def cell(name: str) -> Find:
    return lambda page: page.text(rf'<td class="number {name}"[^>]*>(.*?)</td>')


def head_on_page(page: Page) -> int | None:
    text = cell("head")(page)
    return None if text == "–" else int(text)


def in_library(place: int) -> Find:
    """Return one of the library's figures: channels, messages."""
    return lambda page: number(page.texts(r"<span><b>(.*?)</b>")[place])


def calls_in_24_h(accounts: list[dict[str, Any]]) -> Counter[str]:
    used = {lane["kind"]: lane["used_today"] for one in accounts for lane in one["lanes"]}
    return +Counter(used)


def calls_by_day(accounts: list[dict[str, Any]]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for one in accounts:
        for day in one["calls"]:
            calls[day["kind"]] += day["calls"]
    return calls


def misses_of(state: str) -> dict[str, Find]:
    return {
        EXPLAIN: lambda one: sum(
            row["failed_items"] for row in one["failed_item_counts"] if row["state"] == state
        ),
        MISSES: lambda shown: sum(row["failed_items"] for row in shown["counts"] if row["state"] == state),
    }


STREAM = [
    Figure(
        "messages read",
        {
            EXPLAIN: (read("messages_read"), explained("total_messages_scanned")),
            CHANNELS: listed_read("messages_read"),
            API: answered("messages_read"),
            PAGE: lambda page: number(cell("scanned")(page)),
            LIBRARY: in_library(1),
        },
    ),
    Figure(
        "messages with finds",
        {
            EXPLAIN: explained("message_count"),
            CHANNELS: listed("message_count"),
            API: answered("message_count"),
            PAGE: lambda page: number(page.cell("with finds")),
        },
    ),
    Figure(
        "share",
        {
            EXPLAIN: worded(read("share")),
            CHANNELS: worded(listed_read("share")),
            API: worded(answered("covered_share")),
            PAGE: share_on_page,
        },
    ),
    Figure(
        "complete",
        {
            EXPLAIN: (
                read("complete"),
                lambda one: one["newest_position"] is not None and not one["gaps"],
                lambda one: all(lens["complete"] for lens in one["coverage"] if lens["wanted"]),
            ),
            CHANNELS: listed_read("complete"),
        },
    ),
    Figure(
        "complete from",
        {
            EXPLAIN: position(read("complete_from")),
            CHANNELS: position(listed_read("complete_from")),
            API: position(answered("complete_from")),
            PAGE: position(complete_on_page(0)),
        },
    ),
    Figure(
        "complete to",
        {
            EXPLAIN: position(read("complete_to")),
            CHANNELS: position(listed_read("complete_to")),
            API: position(answered("complete_to")),
            PAGE: position(complete_on_page(1)),
        },
    ),
    Figure(
        "as of",
        {
            EXPLAIN: moment(read("as_of")),
            CHANNELS: moment(listed_read("as_of")),
            API: moment(answered("complete_as_of")),
        },
    ),
    Figure(
        "floor",
        {
            EXPLAIN: position(explained("start_position")),
            CHANNELS: position(listed("start_position")),
            API: position(answered("start_position")),
        },
    ),
    Figure(
        "head",
        {
            EXPLAIN: position(explained("newest_position")),
            CHANNELS: position(listed("newest_position")),
            API: position(answered("newest_position")),
            PAGE: head_on_page,
        },
    ),
    Figure(
        "next check",
        {
            EXPLAIN: moment(explained("due_at")),
            CHANNELS: moment(listed("due_at")),
            API: moment(answered("due_at")),
        },
    ),
    Figure(
        "last scan",
        {
            EXPLAIN: moment(explained("scanned_at")),
            CHANNELS: moment(listed("scanned_at")),
            API: moment(answered("scanned_at")),
        },
    ),
    Figure("frequency", {EXPLAIN: explained("frequency"), CHANNELS: listed("frequency")}),
    Figure(
        "items",
        {
            EXPLAIN: explained("items"),
            ITEMS: lambda answer: len(answer["items"]),
            COUNT: lambda page: number(page.text(r"<b>(.*?)</b>")),
        },
    ),
    Figure(
        "kinds of items",
        {
            EXPLAIN: explained("item_kinds"),
            ITEMS: lambda answer: sorted({item["kind"] for item in answer["items"]}),
            SHELF: lambda answer: sorted({row["kind"] for row in answer["rows"]}),
        },
    ),
    Figure("open failed items", misses_of("open")),
    Figure("given-up failed items", misses_of("abandoned")),
    Figure(
        "channels",
        {
            CHANNELS: len,
            API: lambda answer: len(answer["channels"]),
            LIBRARY: in_library(0),
            PAGE: lambda page: len(page.texts(r'(<tr id="channel-)')),
            ACCOUNTS: lambda accounts: sum(one["reads"] for one in accounts),
        },
    ),
    # All within a day: what the account list says of 24 hours is what it says of 7 days.
    Figure("calls of the account", {ACCOUNTS: (calls_in_24_h, calls_by_day)}),
    Figure(
        "dead letters of the stream",
        {
            EXPLAIN: lambda one: len(one["failed_jobs"]),
            "headgate jobs list": lambda shown: sum(
                one["states"].get("failed", 0) for one in shown["counts"]
            ),
            "/jobs": lambda page: len(page.texts(r'(<tr id="letter-)')),
        },
    ),
]
