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
from headgate.domain.words.frequency import frequency_word
from headgate.domain.words.listing_words import breaker_text
from headgate.domain.words.reasons import READING, stream_reason_text
from headgate.domain.words.states import SCAN_TRIGGERS, state_text
from headgate.domain.words.times import duration, relative
from headgate.domain.words.waiting import holder_text
from headgate.storage.streams.explain import (
    DecisionLine,
    ExplainedStream,
    Explanation,
    HoleLine,
    JudgingLine,
    LensCoverage,
    MissLine,
    MissTotal,
    ScanLine,
    Watch,
)

BAR_WIDTH = 50
MAX_RANGES = 6
MAX_GAPS = 6
_JOBS = {
    "scan": "reads it",
    "check": "checks its account's channels",
    "judge": "applies changed settings",
}
_STAGES = {"read": "reading", "ingest": "storing"}
ITEM_NOUNS = {"package": "packages", "clip": "clips", "picture": "pictures", "file": "files", "link": "links"}


def print_explanation(explanation: Explanation, *, now: datetime, verbose: bool = False) -> None:
    """Print what is known, the most important first; with `verbose` also what decisions are based on."""
    stream = explanation.stream
    typer.echo(f"{typer.style(stream.title, bold=True)}  ({stream.platform}, {stream.key})")
    typer.echo(found_line(stream))
    typer.echo()
    print_facts(_facts(explanation, now))
    _print_coverage(explanation, now)
    _print_gaps(explanation, now)
    _print_failed_items(explanation.miss_counts, explanation.misses, now)
    _print_decisions(explanation, now, verbose=verbose)
    _print_scans(explanation.scans, now, verbose=verbose)
    if verbose:
        _print_mechanism(explanation, now)


def found_line(stream: ExplainedStream) -> str:
    """Return what was found in the channel."""
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
        ("next check", _next_check(explanation, now)),
        ("checked", frequency_of(stream)),
        ("starts at", _start(stream)),
        ("newest message", _newest(stream, now)),
        ("read", read_in_words(explanation.progress) or "nothing yet"),
        ("complete", complete_in_words(explanation.progress, now)),
        ("last scan ended", moment(stream.scanned_at, now)),
        ("messages with finds", f"{stream.message_count:,}"),
        ("messages read", f"{explanation.progress.messages_read:,}"),
    ]
    if stream.gone_at is not None:
        facts.insert(0, ("gone", f"not visible to its account since {moment(stream.gone_at, now)}"))
    if stream.continues_id is not None:
        facts.insert(0, ("continues", stream.continues_title))
    if stream.rechecks:
        waiting = f"{stream.rechecks:,} waiting, {_next_try(stream.next_recheck_at, now)}"
        facts.append(("messages to reread", waiting))
    if explanation.judging is not None:
        facts.append(("changed settings", _settings_update(explanation.judging, now)))
    return facts


def _switch(stream: ExplainedStream) -> str:
    if not stream.message_scan_enabled:
        return "off: `headgate channel enable` switches it on"
    return "on" if stream.parent_enabled else f"off, because {stream.parent_off} is off"


def _readers(watches: Sequence[Watch]) -> str:
    reader = next((watch for watch in watches if watch.reads), None)
    others = [watch.name for watch in watches if not watch.reads]
    stands_by = f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} on standby" if others else ""
    if reader is None:
        return f"no account{stands_by}"
    listening = " (listening)" if reader.listening else ""
    held = f", {holder_text(reader.held_by, reader.awaiting_holder)}" if reader.held_by else ""
    return f"{reader.name}{listening}{held}{stands_by}"


def breaker_in_words(watch: Watch, now: datetime) -> str:
    """Return whether an account reads a channel without trouble, or what the trouble is."""
    if watch.state != "active":
        return f"{state_text(watch.state)}: {watch.state_reason or 'reason unknown'}"
    failure = f"{watch.error_class}: {watch.error_message}" if watch.error_class else ""
    return breaker_line(watch.failures, watch.open_until, failure, now)


def breaker_line(failures: int, open_until: datetime | None, failure: str, now: datetime) -> str:
    """Return whether calls fail, when they are retried, and what went wrong."""
    text = breaker_text(Breaker(failures, open_until=open_until), now=now)
    if not text:
        return "OK"
    retried = f" Retried {moment(open_until, now)}." if open_until is not None and open_until > now else ""
    return f"{text}{retried} Last error: {failure or 'unknown'}"


def _next_check(explanation: Explanation, now: datetime) -> str:
    stream = explanation.stream
    if explanation.failed_jobs:
        failed = explanation.failed_jobs[0]
        return (
            f"none: the job that {_JOBS.get(failed.kind, failed.kind)} failed {relative(failed.died_at, now)}"
            f" ({failed.error_class}: {failed.message}); `headgate jobs retry {failed.id}` retries it"
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


def _start(stream: ExplainedStream) -> str:
    start = "the beginning" if stream.floor == 0 else str(stream.floor)
    if stream.sampled_from is None:
        return start
    return f"{start}; so far only a sample from {stream.sampled_from} on: `headgate channel scan` reads all"


def frequency_of(stream: ExplainedStream) -> str:
    """Return how often a channel is checked, and who decides that."""
    how = "chosen by a person" if stream.tier_pinned else "automatic"
    return f"{frequency_word(stream.tier)} ({how}); {stream.arrival_rate:.3g} new messages an hour"


def _newest(stream: ExplainedStream, now: datetime) -> str:
    if stream.head_checked_at is None and stream.head is None:
        return "not known yet"
    checked = moment(stream.head_checked_at, now, never="announced, not checked yet")
    if stream.head_checked_at is not None:
        checked = f"checked {checked}"
    return f"{'none, the channel is empty' if stream.head is None else stream.head}, {checked}"


def _settings_update(update: JudgingLine, now: datetime) -> str:
    state = "being applied" if update.due_at is not None else "applied"
    return (
        f"{state}: {update.judged:,} checked, {update.changed:,} changed,"
        f" requested {relative(update.asked_at, now)}"
    )


def _print_coverage(explanation: Explanation, now: datetime) -> None:
    print_heading("What was read")
    for one in explanation.coverage:
        _print_content(explanation.stream, one)
    tip_after = explanation.stream.tip_after
    if tip_after is not None and tip_after > now:
        typer.echo(f"The newest messages are very recent; they are read again {moment(tip_after, now)}.")


def _print_content(stream: ExplainedStream, one: LensCoverage) -> None:
    width = min(BAR_WIDTH, line_width() - NAME_WIDTH - 9)
    bar = draw_bar(
        one.spans, floor=stream.floor, head=stream.head, first_seen=stream.first_seen_position, width=width
    )
    drawn = "its length is not known yet" if bar is None else _bar_line(bar)
    facts = [(one.lens if one.wanted else f"({one.lens})", drawn)]
    if bar is not None:
        facts.append(("", _drawn_range(bar, stream)))
    facts += [
        ("  newest read", _position(one.forward_message_id)),
        ("  oldest read", _position(one.backward_message_id)),
        ("  ranges", _ranges_in_words(one.spans)),
    ]
    print_facts(facts)


def _bar_line(bar: CoverageBar) -> str:
    older = "…" if bar.older_unread else ""
    return f"{older}{bar.cells}"


def _drawn_range(bar: CoverageBar, stream: ExplainedStream) -> str:
    text = f"of {bar.drawn.start}–{bar.drawn.end - 1}"
    if bar.older_unread:
        text += "; older messages were not read yet, and their number is not known"
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


def _print_gaps(explanation: Explanation, now: datetime) -> None:
    gaps = explanation.holes
    if not gaps:
        known = explanation.stream.head is not None
        typer.echo("\nNo gaps: everything up to the newest message was read." if known else "")
        return
    print_heading(f"Gaps: {count_of(len(gaps), 'range')} to read")
    print_facts((gap.lens, _gap_in_words(gap, now)) for gap in gaps[:MAX_GAPS])
    if len(gaps) > MAX_GAPS:
        typer.echo(f"… and {len(gaps) - MAX_GAPS:,} older ones; --json has them all.")


def _gap_in_words(gap: HoleLine, now: datetime) -> str:
    place = _range_in_words(Span(gap.first_position, gap.last_position + 1))
    if not gap.attempts:
        return f"{place}: not read yet"
    tries = count_of(gap.attempts, "failed try", "failed tries")
    return f"{place}: {tries}, {_next_try(gap.next_try_at, now)}; {gap.error_class}: {gap.error_message}"


def _next_try(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "a try is under way"
    return f"next {'now' if at <= now else relative(at, now)}"


def _print_failed_items(counts: Sequence[MissTotal], items: Sequence[MissLine], now: datetime) -> None:
    if not counts:
        return
    worded = ", ".join(
        f"{count.misses:,} {state_text(count.state)} ({_STAGES[count.stage]})" for count in counts
    )
    print_heading(f"Failed items: {worded}")
    print_facts((f"message {item.message_key}", _failed_item_in_words(item, now)) for item in items)


def _failed_item_in_words(item: MissLine, now: datetime) -> str:
    what = f"attachment {item.attachment_key}" if item.attachment_key else "the whole message"
    tries = count_of(item.attempts, "try", "tries")
    future = (
        "given up until a person retries it" if item.state == "abandoned" else _next_try(item.due_at, now)
    )
    return f"{what}: {tries}, {future}; {item.error_class}: {item.error_message}"


def _print_decisions(explanation: Explanation, now: datetime, *, verbose: bool) -> None:
    if not explanation.decisions:
        return
    print_heading("Decisions")
    print_facts(
        (relative(decision.last_at, now), _decision_in_words(decision, verbose=verbose))
        for decision in explanation.decisions
    )


def _decision_in_words(decision: DecisionLine, *, verbose: bool) -> str:
    what = "read" if decision.reason in READING else "not read"
    times = "" if decision.times == 1 else f" {decision.times:,} times"
    code = f" [{decision.reason}]" if verbose else ""
    return f"{what}{times}: {stream_reason_text(decision.reason)}{code}"


def _print_scans(scans: Sequence[ScanLine], now: datetime, *, verbose: bool) -> None:
    if not scans:
        typer.echo("\nIt was never scanned.")
        return
    print_heading("Scans")
    print_facts((relative(scan.queued_at, now), _scan_in_words(scan, verbose=verbose)) for scan in scans)


def _scan_in_words(scan: ScanLine, *, verbose: bool) -> str:
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
    code = f" [{scan.reason}]" if verbose else ""
    return f"{state_text(scan.status)}{said}; {SCAN_TRIGGERS[scan.trigger]}{code}: {counts}{took}"


def _print_mechanism(explanation: Explanation, now: datetime) -> None:
    """Print the numbers and stored names that decisions are based on."""
    stream = explanation.stream
    print_heading("How Headgate decides")
    print_facts(
        [
            ("tier", f"{stream.tier}; {count_of(stream.idle_scans, 'idle scan')} in a row"),
            ("planned", f"{moment(stream.planned_at, now)} [{stream.reason}]"),
            ("floor to head", f"{stream.floor} to {_position(stream.head)}"),
            ("lenses", ", ".join(stream.lenses)),
            ("calls spent", f"{stream.reads:,} for reading, {stream.head_checks:,} for head checks"),
            ("calls saved", f"{stream.reads_saved:,} for reading"),
        ]
    )
