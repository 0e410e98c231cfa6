"""Runs and deliveries as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import typer

from headgate.cli.output import print_table
from headgate.cli.phrases import count_of, moment, print_facts
from headgate.domain.reminders.run_results import Tally
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.states import AT_CLOSE, TRIGGERS, state_text
from headgate.domain.words.times import relative
from headgate.outflow.reminders.preflight import Outlook, Preflight
from headgate.storage.database import Tx
from headgate.storage.sending.run_overview import DeliveryLine, RunFigures, RunLine, get_figures
from headgate.storage.sending.sending import ErrorCount, count_errors


@dataclass(frozen=True)
class RunStory:
    """A run with all that is told of it."""

    run: RunLine
    figures: RunFigures
    causes: Sequence[ErrorCount]
    outlook: Outlook | None


async def read_story(tx: Tx, run: RunLine, preflight: Preflight) -> RunStory:
    """Look up what is told of a run."""
    return RunStory(
        run,
        await get_figures(tx, run.id),
        await count_errors(tx, run.id),
        await preflight.of_run(tx, run),
    )


def as_line(run: RunLine) -> dict[str, Any]:
    """Return a run of a list as JSON shows it."""
    return {**plain_fields(run), "window": run.window.text}


def as_document(story: RunStory, deliveries: Sequence[DeliveryLine] | None = None) -> dict[str, Any]:
    """Return all that is told of a run as JSON shows it."""
    told: dict[str, Any] = {
        **as_line(story.run),
        **vars(story.figures),
        "causes": list(story.causes),
        "forecast": story.outlook,
    }
    return told if deliveries is None else {**told, "deliveries": list(deliveries)}


def print_runs(runs: Sequence[RunLine], *, now: datetime) -> None:
    print_table(
        ["run", "reminder", "account", "state", "delivered", "of", "began", "why"],
        [
            (
                str(run.id)[-12:],
                run.title + (" (test)" if run.trigger == "test" else ""),
                run.account_name,
                state_text(run.state),
                f"{run.sent:,}",
                f"{run.total:,}",
                relative(run.started_at or run.created_at, now),
                run.reason or run.summary.partition(". ")[0].rstrip("."),
            )
            for run in runs
        ],
        empty="There is no such run: `headgate reminder run` begins one.",
        numeric=["delivered", "of"],
    )


def print_run(story: RunStory, *, now: datetime) -> None:
    """Print what a run is, how far it is, and what came of it."""
    typer.echo(typer.style(story.run.title, bold=True))
    typer.echo()
    print_facts(_facts(story, now))
    if story.causes:
        typer.echo()
        print_table(
            ["groups", "are", "because"],
            [
                (f"{one.deliveries:,}", state_text(one.state), one.error or "no reason was given")
                for one in story.causes
            ],
            numeric=["groups"],
        )


def _facts(story: RunStory, now: datetime) -> Iterator[tuple[str, str]]:
    run, figures = story.run, story.figures
    yield "id", str(run.id)
    yield "state", ": ".join(filter(None, [state_text(run.state), run.reason]))
    yield "account", run.account_name + ("" if run.account_id else " (removed)")
    yield "started", TRIGGERS[run.trigger]
    yield "delivery window", window_in_words(run)
    if run.joined:
        yield (
            "joined by",
            f"{count_of(run.joined, 'later send')} of the reminder, while it was under way",
        )
    if run.active and run.closes_at is not None:
        yield "closes", f"{moment(run.closes_at, now)}; {AT_CLOSE[run.at_close]}"
    yield "began", moment(run.started_at, now, never="not yet")
    if run.ended_at is not None:
        yield "ended", moment(run.ended_at, now)
    yield "delivered", tally_in_words(run.tally)
    yield "messages", f"{figures.messages_sent:,} of {figures.messages:,} sent"
    if figures.median_ms is not None and figures.p95_ms is not None:
        yield "latency", f"{figures.median_ms:.0f} ms in the middle, 95 % within {figures.p95_ms:.0f} ms"
    if run.carried:
        yield "carried", f"into {count_of(run.carried, 'further window')}"
    if run.limit_signals:
        yield "limits", f"the platform asked {count_of(run.limit_signals, 'time')} to slow down"
    if run.remainder_of is not None:
        yield "rest of", f"run {run.remainder_of}"
    if story.outlook is not None:
        prefix = "If it were resumed now: " if run.paused_by == "person" else ""
        yield "forecast", prefix + " ".join([story.outlook.text, *story.outlook.advice])
    if run.summary:
        yield "summary", run.summary


def window_in_words(run: RunLine) -> str:
    return "the whole day" if run.window.is_whole_day else f"{run.window.text} ({run.zone})"


def tally_in_words(tally: Tally) -> str:
    """Return how many groups got everything, and what became of the others."""
    others = [
        f"{count:,} {state_text(state)}" for state, count in vars(tally).items() if state != "sent" and count
    ]
    delivered = f"{tally.sent:,} of {count_of(tally.total, 'group')}"
    return ", ".join([delivered, *others])


def print_deliveries(lines: Sequence[DeliveryLine]) -> None:
    print_table(
        ["number", "group", "key", "state", "messages", "tries", "latency", "why"],
        [
            (
                line.number,
                line.target_title,
                line.target_key,
                state_text(line.state),
                f"{sum(part.state == 'sent' for part in line.parts)} of {len(line.parts)}",
                sum(part.attempts for part in line.parts),
                "" if line.latency_ms is None else f"{line.latency_ms:,} ms",
                line.error or next((part.error for part in line.parts if part.error), ""),
            )
            for line in lines
        ],
        empty="There is no such delivery.",
        numeric=["number", "messages", "tries", "latency"],
    )
