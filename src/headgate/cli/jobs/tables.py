"""Jobs and failed jobs as tables that fit a terminal of 80 columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import typer

from headgate.cli.output import print_table
from headgate.domain.words.states import JOB_STATES, state_text
from headgate.domain.words.times import relative
from headgate.storage.jobs.dead_letters import DeadLetter, LettersOfKind
from headgate.storage.jobs.engine import EndedJob, EndedJobs, LogLine, QueueDepth, QueuedJob

MESSAGE_LENGTH = 60


@dataclass
class KindCounts:
    """How many jobs of a kind are in each state."""

    kind: str
    states: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))


@dataclass(frozen=True)
class Overview:
    """What `headgate jobs list` shows; a part that was not asked for is None."""

    counts: list[KindCounts]
    queued: list[QueuedJob] | None
    failed: list[DeadLetter] | None
    completed: list[EndedJob] | None

    def as_document(self) -> dict[str, Any]:
        parts = {"queued": self.queued, "failed": self.failed, "completed": self.completed}
        return {"counts": self.counts, **{name: part for name, part in parts.items() if part is not None}}


def sum_up(
    depths: Iterable[QueueDepth],
    letters: Iterable[LettersOfKind],
    ended: Iterable[EndedJobs],
    *,
    kind: str | None,
) -> list[KindCounts]:
    """Return how many jobs there are of each kind, or of one, in each state."""
    found: dict[str, KindCounts] = {}

    def add(name: str, state: str, count: int) -> None:
        if kind is None or name == kind:
            found.setdefault(name, KindCounts(name)).states[state] += count

    for depth in depths:
        add(depth.kind, word_of(depth.status), depth.depth)
    for one in letters:
        add(one.kind, "failed", one.letters)
    for jobs in ended:
        add(jobs.kind, word_of(jobs.status), jobs.jobs)
    return [found[name] for name in sorted(found)]


def word_of(status: str) -> str:
    return JOB_STATES.get(status, status)


def ending_of(letter: DeadLetter) -> str:
    """Return the part of an id that a person types."""
    return str(letter.id)[-12:]


def print_overview(overview: Overview, *, real_now: datetime, now: datetime) -> None:
    """Print counts and rows; the engine's times are real, a letter's are the product's."""
    _print_counts(overview.counts)
    if overview.queued is not None:
        _print_queued(overview.queued, now=real_now)
    if overview.failed is not None:
        _print_failed(overview.failed, now=now)
    if overview.completed is not None:
        _print_completed(overview.completed, now=real_now)


def _print_counts(counts: Sequence[KindCounts]) -> None:
    states = ["queued", "running", "held", "failed", "done", "failed try", "cancelled"]
    print_table(
        ["kind", *states],
        [[one.kind, *(one.states.get(state, 0) or "·" for state in states)] for one in counts],
        title="Jobs by kind" if counts else "",
        empty="There are no jobs.",
        numeric=states,
    )


def _print_queued(jobs: Sequence[QueuedJob], *, now: datetime) -> None:
    print_table(
        ["job", "kind", "key", "state", "tries", "when"],
        [
            (
                job.id,
                job.kind,
                job.key,
                word_of(job.status),
                job.attempts + job.crashes or "",
                _when(job, now),
            )
            for job in jobs
        ],
        title="Queued and running" if jobs else "",
        empty="Nothing is queued or running.",
        numeric=["tries"],
    )


def _when(job: QueuedJob, now: datetime) -> str:
    """Return when a job may start if that is ahead, else how long it has been there."""
    return relative(max(job.created_at, job.not_before_at), now)


def _print_failed(letters: Sequence[DeadLetter], *, now: datetime) -> None:
    print_table(
        ["letter", "kind", "key", "why", "died"],
        [
            (
                ending_of(letter),
                letter.kind,
                letter.key,
                _shortened(f"{letter.error_class}: {letter.message}"),
                relative(letter.died_at, now) + (" (kept)" if letter.kept else ""),
            )
            for letter in letters
        ],
        title="Failed jobs" if letters else "",
        empty="There are no open failed jobs.",
    )


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_LENGTH else f"{line[: MESSAGE_LENGTH - 1]}…"


def _print_completed(jobs: Sequence[EndedJob], *, now: datetime) -> None:
    print_table(
        ["job", "kind", "outcome", "ended"],
        [(job.id, job.kind, word_of(job.status), relative(job.ended_at, now)) for job in jobs],
        title="Ended not long ago" if jobs else "",
        empty="Nothing has ended not long ago.",
    )


def print_job(job_id: int, job: QueuedJob | None, lines: Sequence[LogLine], *, real_now: datetime) -> None:
    """Print a job and its life."""
    facts: list[tuple[str, object]] = [("job", job_id)]
    if job is None:
        facts.append(("state", "ended"))
    else:
        facts += [
            ("kind", job.kind),
            ("key", job.key),
            ("state", word_of(job.status)),
            ("priority", job.priority),
            ("failed tries", job.attempts),
            ("crashed starts", job.crashes),
            ("created", _exact(job.created_at, real_now)),
            ("not before", _exact(job.not_before_at, real_now)),
            ("owner", job.owner or "none"),
        ]
    _print_facts(facts)
    print_table(
        ["event", "when", "error"],
        [(word_of(line.status), _exact(line.at, real_now), _error_of(line)) for line in lines],
        title="Log" if lines else "",
        empty="Its log is empty.",
    )
    stack = _last_stack(lines)
    if stack:
        typer.echo(f"Last failure:\n\n{stack.rstrip()}")


def _last_stack(lines: Sequence[LogLine]) -> str:
    for line in reversed(lines):
        if line.traceback and (stack := line.traceback.get("stack")):
            return str(stack)
    return ""


def _error_of(line: LogLine) -> str:
    if not line.traceback:
        return ""
    return f"{line.traceback.get('error_class', '')}: {line.traceback.get('message', '')}"


def print_letter(letter: DeadLetter, *, now: datetime) -> None:
    """Print everything about a failed job."""
    facts: list[tuple[str, object]] = [
        ("letter", letter.id),
        ("kind", letter.kind),
        ("key", letter.key),
        ("state", state_text(letter.state) + (", kept" if letter.kept else "")),
        ("attempts", letter.attempts),
        ("crashed starts", letter.crashes),
        ("first tried", _exact(letter.first_tried_at, now)),
        ("died", _exact(letter.died_at, now)),
    ]
    if letter.closed_at is not None:
        facts.append(("closed", _exact(letter.closed_at, now)))
    facts.append(("error", f"{letter.error_class}: {letter.message}"))
    _print_facts(facts)
    typer.echo(f"\n{letter.stack.rstrip()}")


def _print_facts(facts: Iterable[tuple[str, object]]) -> None:
    for name, value in facts:
        typer.echo(f"{name + ':':<16}{value}")


def _exact(at: datetime, now: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} ({relative(at, now)})"
