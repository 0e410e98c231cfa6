"""What is said of an account that sends, of its reminder and of a run, place by place.

`{account}`, `{reminder}` and `{run}` are the ids of the only ones.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from figures import Figure, Find, Page, number, only

from headgate.domain.reminders.run_results import Tally

ACCOUNTS = "headgate account list"
PACE = "headgate account pace reader"
API_PACE = "/api/v1/accounts/{account}/pace"
ACCOUNTS_PAGE = "/accounts"
RUNS = "headgate run list"
RUN = "headgate run show {run} --deliveries"
API_RUNS = "/api/v1/runs"
API_RUN = "/api/v1/runs/{run}"
API_DELIVERIES = "/api/v1/runs/{run}/deliveries"
RUNS_PAGE = "/runs"
RUN_PAGE = "/runs/{run}"
REMINDERS = "headgate reminder list"
PREVIEW = "headgate reminder preview {reminder}"
API_REMINDERS = "/api/v1/reminders"
REMINDERS_PAGE = "/reminders"
REMINDER_PAGE = "/reminders/{reminder}"
METRICS = "/metrics"
STATES = tuple(vars(Tally()))


def send_lane(accounts: list[dict[str, Any]]) -> int:
    (account,) = accounts
    return sum(lane["used_today"] for lane in account["lanes"] if lane["kind"] == "send")


def sends_by_day(accounts: list[dict[str, Any]]) -> int:
    (account,) = accounts
    return sum(day["calls"] for day in account["calls"] if day["kind"] == "send")


def of_lane(name: str) -> Find:
    return lambda pace: pace["lane"][name]


def tally_of(row: dict[str, Any]) -> dict[str, int]:
    return {state: row[state] for state in STATES if row[state]}


def tally_of_lines(lines: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(line["state"] for line in lines))


def sent_parts(shown: dict[str, Any]) -> int:
    return sum(part["state"] == "sent" for line in shown["deliveries"] for part in line["parts"])


def tally_on_page(page: Page) -> dict[str, int]:
    """Return what stands below the bar of a run."""
    counts = page.texts(r'<li><span class="dot \w+"></span>(.*?)</li>')
    return {text.split()[-1]: number(text) for text in counts}


def filters_on_page(page: Page) -> dict[str, int]:
    """Return the counts beside the filters of a run's deliveries."""
    counts = page.texts(r'href="/runs/[^"]*\?state=\w+"[^>]*>(.*?)</a>')
    return {text.split()[0].lower(): number(text.split()[-1]) for text in counts}


def delivered(page: Page) -> tuple[int, int]:
    """Return the share of a run in a table of runs."""
    return share(page.text(r'<td class="delivered">(.*?)</td>'))


def last_run(page: Page) -> tuple[int, int]:
    return share(page.cell("last"))


def share(text: str) -> tuple[int, int]:
    """Return both numbers of `3 of 12`."""
    part, _, whole = text.partition(" of ")
    return number(part), number(whole)


def causes(rows: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    return sorted((row["deliveries"], row["state"], row["error"]) for row in rows)


def causes_on_page(page: Page) -> list[tuple[int, str, str]]:
    found = page.texts(r"<li>(<b>.*?)</li>")
    words = [text.split(maxsplit=2) for text in found]
    return sorted((number(count), state, error) for count, state, error in words)


GROUPS = [
    Figure(
        "groups of the reminder",
        {
            REMINDERS: lambda lines: lines[0]["targets"],
            "headgate reminder show {reminder}": lambda shown: shown["groups"],
            API_REMINDERS: lambda answer: answer["reminders"][0]["targets"],
            "/api/v1/reminders/{reminder}": lambda answer: answer["groups"],
            REMINDERS_PAGE: lambda page: number(page.cell("groups")),
            REMINDER_PAGE: lambda page: number(page.fact("Sends to")),
        },
    ),
]
"""Also of a reminder that cannot send."""

SENT = [
    Figure(
        "groups as previewed",
        {PREVIEW: lambda shown: shown["total"], REMINDERS: lambda lines: lines[0]["targets"]},
    ),
    Figure(
        "messages of the account in 24 hours",
        {
            ACCOUNTS: (send_lane, sends_by_day),
            PACE: of_lane("used_today"),
            API_PACE: of_lane("used_today"),
            ACCOUNTS_PAGE: lambda page: number(page.fact("Last 24 hours")),
            METRICS: lambda shown: shown.grown('headgate_lane_permits_total{kind="send"}'),
        },
    ),
    Figure(
        "pace",
        {
            ACCOUNTS: lambda accounts: only(accounts[0]["lanes"], kind="send")["ceiling"],
            PACE: of_lane("ceiling"),
            API_PACE: of_lane("ceiling"),
            ACCOUNTS_PAGE: lambda page: float(page.fact("Pace").rpartition(" ")[2]),
        },
    ),
    Figure(
        "messages sent",
        {
            RUN: (
                lambda run: run["messages_sent"],
                sent_parts,
            ),
            API_RUN: lambda answer: answer["messages_sent"],
            API_DELIVERIES: sent_parts,
            RUN_PAGE: (
                lambda page: number(page.fact("Messages")),
                lambda page: sum(number(text) for text in page.texts(r'data-label="messages">(.*?)</td>')),
            ),
            METRICS: lambda shown: shown.grown('headgate_messages_total{result="sent"}'),
        },
    ),
    Figure(
        "messages of the run",
        {
            RUN: lambda run: run["messages"],
            API_RUN: lambda answer: answer["messages"],
            RUN_PAGE: lambda page: share(page.fact("Messages").removesuffix(" sent"))[1],
        },
    ),
    Figure(
        "deliveries by state",
        {
            RUNS: lambda runs: tally_of(runs[0]),
            RUN: (tally_of, lambda run: tally_of_lines(run["deliveries"])),
            API_RUNS: lambda answer: tally_of(answer["runs"][0]),
            API_RUN: lambda answer: tally_of(answer["run"]),
            API_DELIVERIES: lambda answer: tally_of_lines(answer["deliveries"]),
            RUN_PAGE: (tally_on_page, filters_on_page),
        },
    ),
    Figure(
        "delivered",
        {
            RUNS: lambda runs: (runs[0]["sent"], runs[0]["total"]),
            RUN: lambda run: (run["sent"], run["total"]),
            API_RUN: lambda answer: (answer["run"]["sent"], answer["run"]["total"]),
            RUNS_PAGE: delivered,
            RUN_PAGE: lambda page: share(page.text(r"<b>(.*?)</b> delivered")),
            REMINDERS: lambda lines: (lines[0]["last_run_sent"], lines[0]["last_run_total"]),
            API_REMINDERS: lambda answer: (
                answer["reminders"][0]["last_run_sent"],
                answer["reminders"][0]["last_run_total"],
            ),
            REMINDERS_PAGE: last_run,
            REMINDER_PAGE: delivered,
        },
    ),
    Figure(
        "state of the run",
        {
            RUNS: lambda runs: runs[0]["state"],
            RUN: lambda run: run["state"],
            API_RUN: lambda answer: answer["run"]["state"],
            RUN_PAGE: lambda page: page.text(r'<p class="headline">\s*(<span.*?</span>)'),
            REMINDERS: lambda lines: lines[0]["last_run_state"],
            API_REMINDERS: lambda answer: answer["reminders"][0]["last_run_state"],
        },
    ),
    Figure(
        "why not all",
        {
            RUN: lambda run: causes(run["causes"]),
            API_RUN: lambda answer: causes(answer["causes"]),
            RUN_PAGE: causes_on_page,
        },
    ),
    *GROUPS,
    Figure(
        "times the platform asked to slow down",
        {
            RUNS: lambda runs: runs[0]["limit_signals"],
            RUN: lambda run: run["limit_signals"],
            API_RUN: lambda answer: answer["run"]["limit_signals"],
        },
    ),
]
