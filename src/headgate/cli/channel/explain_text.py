"""An explanation as text that reads well in a terminal of 80 columns, and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import typer

from headgate.cli.phrases import (
    NAME_WIDTH,
    complete_in_words,
    count_of,
    line_width,
    moment,
    print_facts,
    print_heading,
    read_in_words,
)
from headgate.domain.breaker import Breaker
from headgate.domain.streams.coverage_bar import CoverageBar, draw_bar
from headgate.domain.streams.messages import Span
from headgate.domain.words.listing_words import breaker_text
from headgate.domain.words.reasons import READING, stream_reason_text
from headgate.domain.words.states import state_text
from headgate.domain.words.times import duration, relative
from headgate.storage.streams.explain import (
    DecisionLine,
    ExplainedStream,
    Explanation,
    HoleLine,
    LensCoverage,
    MissLine,
    MissTotal,
    ScanLine,
    Watch,
)

BAR_WIDTH = 50
MAX_RANGES = 6
MAX_HOLES = 6
_JOBS = {"scan": "reads it", "look": "checks its account's channels", "judge": "judges what was seen"}
ITEM_NOUNS = {"package": "packages", "clip": "clips", "picture": "pictures", "file": "files", "link": "links"}


def print_explanation(explanation: Explanation, *, now: datetime) -> None:
    """Print all that is known, the most asked-for first."""
    stream = explanation.stream
    typer.echo(f"{typer.style(stream.title, bold=True)}  ({stream.platform}, {stream.key})")
    typer.echo(found_line(stream))
    typer.echo()
    print_facts(_facts(explanation, now))
    _print_coverage(explanation, now)
    _print_holes(explanation, now)
    _print_misses(explanation.miss_counts, explanation.misses, now)
    _print_decisions(explanation, now)
    _print_scans(explanation.scans, now)


def found_line(stream: ExplainedStream) -> str:
    """Return what reading the stream has brought."""
    noun = ITEM_NOUNS.get(stream.item_kinds[0], "items") if len(stream.item_kinds) == 1 else "items"
    found = count_of(stream.items, noun.removesuffix("s"), noun)
    hidden = f" ({stream.hidden_items:,} hidden by the settings)" if stream.hidden_items else ""
    return (
        f"Found {found} across {count_of(stream.message_count, 'message')}{hidden};"
        f" {count_of(stream.total_messages_scanned, 'message')} read."
    )


def _facts(explanation: Explanation, now: datetime) -> list[tuple[str, str]]:
    stream = explanation.stream
    facts = [
        ("scanning", _switch(stream)),
        ("read by", _readers(explanation.watches)),
        *[(f"  {watch.name}", breaker_in_words(watch, now)) for watch in explanation.watches],
        ("next check", _next_look(explanation, now)),
        ("tier", _tier(stream)),
        ("floor", _floor(stream)),
        ("head", _head(stream, now)),
        ("read", read_in_words(explanation.progress) or "nothing yet"),
        ("complete", complete_in_words(explanation.progress, now)),
        ("last scan ended", moment(stream.scanned_at, now)),
        ("message_count", f"{stream.message_count:,}"),
        ("total_messages_scanned", f"{explanation.progress.messages_read:,}"),
        ("calls spent", f"{stream.reads:,} for reading, {stream.head_checks:,} for heads"),
        ("calls saved", f"{stream.reads_saved:,} for reading"),
    ]
    if stream.gone_at is not None:
        facts.insert(0, ("gone", f"its account does not see it since {moment(stream.gone_at, now)}"))
    if stream.continues_id is not None:
        facts.insert(0, ("goes on from", stream.continues_title))
    if stream.rechecks:
        facts.append(("rechecks", f"{stream.rechecks:,} waiting, {_next_try(stream.next_recheck_at, now)}"))
    if explanation.judging is not None:
        facts.append(("judging", _judging(explanation, now)))
    return facts


def _switch(stream: ExplainedStream) -> str:
    if not stream.message_scan_enabled:
        return "off: `headgate channel enable` switches it on"
    return "on" if stream.parent_enabled else f"off, because {stream.parent_off} is off"


def _readers(watches: Sequence[Watch]) -> str:
    reader = next((watch for watch in watches if watch.reads), None)
    others = [watch.name for watch in watches if not watch.reads]
    stands_by = f"; {', '.join(others)} {'stands' if len(others) == 1 else 'stand'} by" if others else ""
    if reader is None:
        return f"nobody{stands_by}"
    listening = " (listening)" if reader.listening else ""
    return f"{reader.name}{listening}{stands_by}"


def breaker_in_words(watch: Watch, now: datetime) -> str:
    """Return whether an account reads a channel without trouble, or what the trouble is."""
    if watch.state != "active":
        return f"{state_text(watch.state)}: {watch.state_reason or 'no reason is known'}"
    failure = f"{watch.error_class}: {watch.error_message}" if watch.error_class else ""
    return breaker_line(watch.failures, watch.open_until, failure, now)


def breaker_line(failures: int, open_until: datetime | None, failure: str, now: datetime) -> str:
    """Return whether calls fail, when they are retried, and what went wrong."""
    text = breaker_text(Breaker(failures, open_until=open_until), now=now)
    if not text:
        return "OK"
    retried = f" Retried {moment(open_until, now)}." if open_until is not None and open_until > now else ""
    return f"{text}{retried} Last error: {failure or 'not known'}"


def _next_look(explanation: Explanation, now: datetime) -> str:
    stream = explanation.stream
    if explanation.failed_jobs:
        failed = explanation.failed_jobs[0]
        return (
            f"none: the job that {_JOBS.get(failed.kind, failed.kind)} failed {relative(failed.died_at, now)}"
            f" ({failed.error_class}: {failed.message}); `headgate jobs retry {failed.id}` tries it again"
        )
    active = next((scan for scan in explanation.scans if scan.status in {"QUEUED", "RUNNING"}), None)
    if active is not None:
        return f"a scan is {state_text(active.status)}, because {stream_reason_text(active.reason)}"
    if not stream.enabled:
        return "none: it is switched off"
    if stream.due_at is None:
        return "none is planned"
    when = "now" if stream.due_at <= now else moment(stream.due_at, now)
    return f"{when}; {stream_reason_text(stream.reason)}"


def _floor(stream: ExplainedStream) -> str:
    floor = "0 (the beginning)" if stream.floor == 0 else str(stream.floor)
    if stream.sampled_from is None:
        return floor
    return (
        f"{floor}; only a sample from {stream.sampled_from} on is kept up: `headgate channel scan` reads all"
    )


def _tier(stream: ExplainedStream) -> str:
    how = "pinned by a person" if stream.tier_pinned else "follows what arrives"
    idle = f"; {count_of(stream.idle_scans, 'idle scan')} in a row" if stream.idle_scans else ""
    return f"{stream.tier}, {how}: {stream.arrival_rate:.3g} messages an hour{idle}"


def _head(stream: ExplainedStream, now: datetime) -> str:
    if stream.head_checked_at is None and stream.head is None:
        return "not known yet"
    checked = moment(stream.head_checked_at, now, never="heard of, never checked")
    if stream.head_checked_at is not None:
        checked = f"checked {checked}"
    return f"{'none, the stream is empty' if stream.head is None else stream.head}, {checked}"


def _judging(explanation: Explanation, now: datetime) -> str:
    judging = explanation.judging
    assert judging is not None  # noqa: S101 - asked for only if there is one
    state = "under way" if judging.due_at is not None else "done"
    return (
        f"by changed settings, {state}: {judging.judged:,} judged, {judging.changed:,} changed,"
        f" asked {relative(judging.asked_at, now)}"
    )


def _print_coverage(explanation: Explanation, now: datetime) -> None:
    print_heading("Coverage")
    for one in explanation.coverage:
        _print_lens(explanation.stream, one)
    tip_after = explanation.stream.tip_after
    if tip_after is not None and tip_after > now:
        typer.echo(f"The newest messages are too young to be proven; read again {moment(tip_after, now)}.")


def _print_lens(stream: ExplainedStream, one: LensCoverage) -> None:
    width = min(BAR_WIDTH, line_width() - NAME_WIDTH - 9)
    bar = draw_bar(
        one.spans, floor=stream.floor, head=stream.head, first_seen=stream.first_seen_position, width=width
    )
    drawn = "nothing is known of its length yet" if bar is None else _bar_line(bar)
    facts = [(one.lens if one.wanted else f"({one.lens})", drawn)]
    if bar is not None:
        facts.append(("", _drawn_range(bar, stream)))
    facts += [
        ("  forward_message_id", _position(one.forward_message_id)),
        ("  backward_message_id", _position(one.backward_message_id)),
        ("  ranges", _ranges_in_words(one.spans)),
    ]
    print_facts(facts)


def _bar_line(bar: CoverageBar) -> str:
    older = "…" if bar.older_unread else ""
    return f"{older}{bar.cells}"


def _drawn_range(bar: CoverageBar, stream: ExplainedStream) -> str:
    text = f"of {bar.drawn.start}–{bar.drawn.end - 1}"
    if bar.older_unread:
        text += "; what is older was not read yet, and how much that is nobody knows"
    elif bar.complete and bar.drawn.start > stream.floor:
        text += "; nothing is older"
    return text


def _position(position: int | None) -> str:
    return "none" if position is None else str(position)


def _range_in_words(span: Span) -> str:
    return str(span.start) if span.end == span.start + 1 else f"{span.start}–{span.end - 1}"


def _ranges_in_words(spans: Sequence[Span]) -> str:
    """Return the newest ranges, newest first, both ends included."""
    if not spans:
        return "none"
    newest = [_range_in_words(span) for span in list(reversed(spans))[:MAX_RANGES]]
    more = f", and {len(spans) - MAX_RANGES:,} older" if len(spans) > MAX_RANGES else ""
    return ", ".join(newest) + more


def _print_holes(explanation: Explanation, now: datetime) -> None:
    holes = explanation.holes
    if not holes:
        known = explanation.stream.head is not None
        typer.echo("\nNo holes: everything from the floor to the head was read." if known else "")
        return
    print_heading(f"Holes: {count_of(len(holes), 'range')} to read")
    print_facts((hole.lens, _hole_in_words(hole, now)) for hole in holes[:MAX_HOLES])
    if len(holes) > MAX_HOLES:
        typer.echo(f"… and {len(holes) - MAX_HOLES:,} older ones; --json has them all.")


def _hole_in_words(hole: HoleLine, now: datetime) -> str:
    place = _range_in_words(Span(hole.first_position, hole.last_position + 1))
    if not hole.attempts:
        return f"{place}: not read yet"
    tries = count_of(hole.attempts, "failed try", "failed tries")
    return f"{place}: {tries}, {_next_try(hole.next_try_at, now)}; {hole.error_class}: {hole.error_message}"


def _next_try(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "a try is under way"
    return f"the next {'now' if at <= now else relative(at, now)}"


def _print_misses(counts: Sequence[MissTotal], misses: Sequence[MissLine], now: datetime) -> None:
    if not counts:
        return
    worded = ", ".join(f"{count.misses:,} {state_text(count.state)} ({count.stage})" for count in counts)
    print_heading(f"Failed items: {worded}")
    print_facts((f"message {miss.message_key}", _miss_in_words(miss, now)) for miss in misses)


def _miss_in_words(miss: MissLine, now: datetime) -> str:
    what = f"attachment {miss.attachment_key}" if miss.attachment_key else "the whole message"
    tries = count_of(miss.attempts, "try", "tries")
    future = (
        "given up until a person retries it" if miss.state == "abandoned" else _next_try(miss.due_at, now)
    )
    return f"{what}: {tries}, {future}; {miss.error_class}: {miss.error_message}"


def _print_decisions(explanation: Explanation, now: datetime) -> None:
    if not explanation.decisions:
        return
    print_heading("Decisions")
    print_facts(
        (relative(decision.last_at, now), _decision_in_words(decision)) for decision in explanation.decisions
    )


def _decision_in_words(decision: DecisionLine) -> str:
    what = "read" if decision.reason in READING else "left alone"
    times = "" if decision.times == 1 else f" {decision.times:,} times"
    return f"{what}{times}; {decision.reason}: {stream_reason_text(decision.reason)}"


def _print_scans(scans: Sequence[ScanLine], now: datetime) -> None:
    if not scans:
        typer.echo("\nIt was never scanned.")
        return
    print_heading("Scans")
    print_facts((relative(scan.queued_at, now), _scan_in_words(scan)) for scan in scans)


def _scan_in_words(scan: ScanLine) -> str:
    counts = ", ".join(
        [
            count_of(scan.pages, "page"),
            count_of(scan.messages, "message"),
            count_of(scan.items, "item"),
            count_of(scan.head_calls + scan.read_calls, "call"),
        ]
    )
    took = "" if scan.duration_s is None else f" in {duration(scan.duration_s)}"
    said = f": {scan.error_message}" if scan.error_message else ""
    return f"{state_text(scan.status)}{said}; by {scan.trigger} ({scan.reason}): {counts}{took}"
