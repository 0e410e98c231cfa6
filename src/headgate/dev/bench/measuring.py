"""What all benchmarks share: a loop as the product's, percentiles, and a report with floors and bounds."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import typer

from headgate.cli.output import print_table
from headgate.kernel.collector import collect_seldom

T = TypeVar("T")


@dataclass(frozen=True)
class Figure:
    """One measured figure, what it is held against, and whether that holds."""

    what: str
    figure: str
    floor: str = ""
    ratio: float | None = None
    bound: str = ""
    ok: bool | None = None
    """None where a figure has no bound."""


@dataclass(frozen=True)
class Report:
    """What came of one benchmark: for machines, and for people."""

    name: str
    title: str
    values: dict[str, Any]
    lines: Sequence[Figure]
    notes: Sequence[str] = ()


def rate_line(what: str, *, per_s: float, floor_per_s: float, least_ratio: float | None = None) -> Figure:
    """Return the line of a rate beside the rate of the bare database."""
    ratio = per_s / floor_per_s
    return Figure(
        what=what,
        figure=f"{per_s:,.0f}/s",
        floor=f"{floor_per_s:,.0f}/s",
        ratio=ratio,
        bound="" if least_ratio is None else f"ratio ≥ {least_ratio:g}",
        ok=None if least_ratio is None else ratio >= least_ratio,
    )


def delay_line(what: str, *, delay_ms: float, most_ms: float | None = None) -> Figure:
    """Return the line of a delay."""
    return Figure(
        what=what,
        figure=f"{delay_ms:.1f} ms",
        bound="" if most_ms is None else f"≤ {most_ms:g} ms",
        ok=None if most_ms is None else delay_ms <= most_ms,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that so great a share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def print_report(report: Report) -> None:
    """Print a report as a table that fits a terminal."""
    verdicts = {True: "ok", False: "missed", None: ""}
    print_table(
        ["measure", "figure", "floor", "ratio", "bound", ""],
        [
            (
                line.what,
                line.figure,
                line.floor,
                "" if line.ratio is None else f"{line.ratio:.2f}",
                line.bound,
                verdicts[line.ok],
            )
            for line in report.lines
        ],
        title=report.title,
        numeric=["figure", "floor", "ratio"],
    )
    for note in report.notes:
        typer.echo(note)


def run_quickly(work: Coroutine[Any, Any, T]) -> T:
    """Run as the product runs: on uvloop where there is one, and with a calm garbage collector."""
    collect_seldom()
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
