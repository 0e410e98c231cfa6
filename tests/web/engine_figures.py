"""What is said of jobs and dead letters, place by place."""

from __future__ import annotations

import re
from typing import Any

from figures import Figure, Find, Metrics, Page, number

JOBS = "headgate jobs list"
DOCTOR = "headgate doctor"
PAGE = "/jobs"
METRICS = "/metrics"
METRIC = re.compile(r'headgate_queue_depth\{kind="(\w+)",status="(\w+)"\}')


def by_kind(word: str) -> Find:
    """Return how many jobs of each kind are in a state; kinds without any are left out."""
    return lambda shown: {
        one["kind"]: one["states"][word] for one in shown["counts"] if one["states"].get(word)
    }


def on_page(label: str) -> Find:
    def find(page: Page) -> dict[str, int]:
        rows = re.findall(r'<tr id="queue-(\w+)".*?</tr>', page.html, re.DOTALL)
        found = {kind: number(page.row(f"queue-{kind}").cell(label)) for kind in rows}
        return {kind: count for kind, count in found.items() if count}

    return find


def measured(status: str) -> Find:
    def find(shown: Metrics) -> dict[str, int]:
        matches = {METRIC.fullmatch(name): round(value) for name, value in shown.samples.items()}
        return {one[1]: value for one, value in matches.items() if one is not None and one[2] == status}

    return find


def said(check: str, pattern: str) -> Find:
    """Return a number of a finding of the doctor's; 0 where it finds nothing."""

    def find(shown: dict[str, Any]) -> int:
        (message,) = [one["message"] for one in shown["checks"] if one["name"] == check]
        found = re.search(pattern, message)
        return int(found[1]) if found else 0

    return find


def total(find: Find) -> Find:
    return lambda shown: sum(find(shown).values())


ENGINE = [
    Figure(
        "waiting by kind", {JOBS: by_kind("queued"), PAGE: on_page("waiting"), METRICS: measured("queued")}
    ),
    Figure(
        "running by kind", {JOBS: by_kind("running"), PAGE: on_page("running"), METRICS: measured("picked")}
    ),
    Figure("waiting", {JOBS: total(by_kind("queued")), DOCTOR: said("engine", r"(\d+) jobs wait")}),
    Figure("running", {JOBS: total(by_kind("running")), DOCTOR: said("engine", r"(\d+) run")}),
    Figure(
        "failed jobs",
        {
            JOBS: (total(by_kind("failed")), lambda shown: len(shown["failed"])),
            PAGE: lambda page: len(page.texts(r'(<tr id="letter-)')),
            DOCTOR: said("failed jobs", r"(\d+) jobs failed"),
            METRICS: lambda shown: shown.gauge("headgate_dead_letters_open"),
        },
    ),
]
