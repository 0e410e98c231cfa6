"""Numbers with their nouns, times with exact ones, and facts as aligned lines."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from datetime import datetime

import typer

from headgate.cli.output import console_for
from headgate.domain.streams.progress import Progress
from headgate.domain.words.times import relative, share

NAME_WIDTH = 24
_WIDEST = 100
_PIPED_WIDTH = 80


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def moment(at: datetime | None, now: datetime, *, never: str = "never") -> str:
    """Return a time as people say it, with the exact one."""
    if at is None:
        return never
    return f"{relative(at, now)} ({at:%Y-%m-%d %H:%M:%S})"


def read_in_words(progress: Progress) -> str:
    """Return how much was read; without a share it is not known how much older history there is."""
    if progress.share is not None:
        return share(progress.share, complete=progress.complete)
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
