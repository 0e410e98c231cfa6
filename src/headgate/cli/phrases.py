"""Words of the tables in the words of people, and facts as aligned lines."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from datetime import datetime

import typer

from headgate.cli.jobs.tables import relative
from headgate.cli.output import console_for
from headgate.domain.streams.progress import Progress

NAME_WIDTH = 24
_WIDEST = 100
_PIPED_WIDTH = 80

REASONS = {
    "asked": "a person asked for it",
    "never_scanned": "it was never scanned before",
    "woken": "something was heard of it",
    "changed": "there is something to read",
    "head_unknown": "its newest message could not be told, so reading tells",
    "recent_idle": "it was scanned a moment ago, and nothing was new",
    "cold": "nothing was new for many scans, so it is looked at less often",
    "caught_up": "everything up to the newest message was read",
    "breaker_open": "reading it failed, and it rests before the next try",
    "disabled": "it is switched off",
    "settling": "what was posted just before someone asked may only now be visible",
    "retry": "a range that could not be read is tried again",
    "unheard": "its listener was away, and a head check shows what it missed",
    "reader_changed": "its account is not available, is back, or another one reads it now",
    "tier_changed": "a person changed how often it is checked",
    "clock_changed": "the clock was set back",
    "gave_up": "checking it failed; it is tried again later, or when someone retries the failed job",
    "replayed": "a failed job was replayed",
    "never_polled": "it was never looked at before",
    "due": "it was its time",
    "gone": "its source says that it is gone for good",
    "no_reader": "no account can look at it",
    "host_open": "its site does not answer and is left alone for a while",
    "resting": "its source asked to be left alone for a while",
}
READING = frozenset({"asked", "never_scanned", "woken", "changed", "head_unknown"})
"""Reasons for reading; the others are reasons for leaving a stream alone."""


def reason_in_words(reason: str) -> str:
    """Return why something was decided; a reason without words of its own is shown as it is."""
    return REASONS.get(reason, reason.replace("_", " "))


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def moment(at: datetime | None, now: datetime, *, never: str = "never") -> str:
    """Return a time as people say it, with the exact one."""
    if at is None:
        return never
    return f"{relative(at, now)} ({at:%Y-%m-%d %H:%M:%S})"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def share_in_words(share: float, *, complete: bool) -> str:
    """Return a share that never says 100 % while something is left, nor 0 % when something is done."""
    if complete or share <= 0:
        return "100 %" if complete else "0 %"
    return f"{min(99.9, max(0.1, share * 100)):.1f} %"


def read_in_words(progress: Progress) -> str:
    """Return how much was read; without a share it is not known how much older history there is."""
    if progress.share is not None:
        return share_in_words(progress.share, complete=progress.complete)
    return "" if progress.complete_from is None else "older left"


def complete_in_words(progress: Progress, now: datetime) -> str:
    """Return between which positions nothing is missing, and as of when."""
    if progress.complete_from is None:
        return "nothing yet"
    return (
        f"from {progress.complete_from} to {progress.complete_to},"
        f" as of {moment(progress.as_of, now, never='an unknown time')}"
    )


def line_width() -> int:
    """Return how wide running text may be: the terminal's width up to what reads well."""
    if not sys.stdout.isatty():
        return _PIPED_WIDTH
    return max(40, min(_WIDEST, console_for(sys.stdout).width))


def print_heading(text: str) -> None:
    typer.echo(f"\n{typer.style(text, bold=True)}")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; long values go on below themselves."""
    width = line_width()
    for name, value in facts:
        lines = textwrap.wrap(value, max(20, width - NAME_WIDTH), break_on_hyphens=False) or [""]
        typer.echo(f"{name:<{NAME_WIDTH}}{lines[0]}".rstrip())
        for line in lines[1:]:
            typer.echo(f"{'':<{NAME_WIDTH}}{line}")
