"""Listings in words: whether they work, why they are checked as often as they are, and when next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import typer

from headgate.cli.channel.explain_text import breaker_line
from headgate.cli.phrases import count_of, moment, print_facts, print_heading
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.frequency import frequency_word
from headgate.domain.words.listing_words import check_reason_text, frequency_reason_text
from headgate.domain.words.times import relative
from headgate.kernel.logs import mask_url
from headgate.storage.listings.listing_overview import ListingOverview, TierChange
from headgate.storage.listings.listings import Source

CHECKED = frozenset({"asked", "never_polled", "due"})
"""Reasons for checking; the others are reasons for leaving a source alone."""


def state_word(one: ListingOverview, now: datetime) -> str:
    """Return in a word or two whether a listing works, as the pages say it."""
    return one.health(now=now).word


def trouble(one: ListingOverview, now: datetime) -> str:
    """Say what is wrong with a listing, or what to know of one that works; empty if nothing."""
    health = one.health(now=now)
    if health.kind not in {"bad", "warn"}:
        return " ".join(health.notes)
    again = f" Next try {relative(health.until, now)}." if health.until else ""
    error = f" Last error: {health.error}" if health.error else ""
    return f"{health.text}{again}{error}"


def next_check(one: ListingOverview, now: datetime) -> str:
    """Return when a listing is checked next, in short."""
    if one.gone_at is not None or not one.enabled or one.due_at is None:
        return "none"
    return "now" if one.due_at <= now else relative(one.due_at, now)


def frequency_line(one: ListingOverview) -> str:
    """Say how often a source is checked, and why."""
    why = frequency_reason_text(one.tier_reason, pinned=one.tier_pinned).rstrip(".")
    word = frequency_word(one.tier)
    return f"{word}: {why[:1].lower()}{why[1:]}" if why else word


def print_sources(states: Sequence[tuple[ListingOverview, str]], now: datetime) -> None:
    """Print sources of a series, each with what is known of it; the text says what of it is taken."""
    for number, (one, taken) in enumerate(states, 1):
        print_heading(f"Source {number}: {one.title}  ({one.platform}, {mask_url(one.key)})")
        print_facts([("  takes", taken), *((f"  {name}", text) for name, text in _facts(one, now))])


def print_listing(
    one: ListingOverview,
    sources: Sequence[Source],
    changes: Sequence[TierChange],
    now: datetime,
    *,
    verbose: bool = False,
) -> None:
    """Print what is known of a source; with `verbose` also what decisions are based on."""
    typer.echo(f"{typer.style(one.title, bold=True)}  ({one.platform}, {mask_url(one.key)})")
    typer.echo(f"Checked {count_of(one.polls, 'time')}; {brings(sources)}.\n")
    print_facts([("id", str(one.channel_id)), *_facts(one, now)])
    if changes:
        print_heading("How often it was checked")
        print_facts((relative(change.at, now), _change_in_words(change)) for change in changes)
    if verbose:
        _print_mechanism(one, now)


def _change_in_words(change: TierChange) -> str:
    why = frequency_reason_text(change.reason) or change.reason
    return f"{frequency_word(change.from_tier)} → {frequency_word(change.to_tier)}: {why}"


def _print_mechanism(one: ListingOverview, now: datetime) -> None:
    """Print the stored names that decisions are based on."""
    print_heading("How Headgate decides")
    swept = moment(one.swept_at, now) if one.swept else "no"
    print_facts(
        [
            ("tier", f"{one.tier} [{one.tier_reason or 'no reason'}]"),
            ("planned", f"{moment(one.due_at, now)} [{one.reason or 'no reason'}]"),
            ("swept with its site", swept),
        ]
    )


def brings(sources: Sequence[Source]) -> str:
    """Say which series a listing brings."""
    if not sources:
        return "its entries appear as posts in the library"
    named = [
        f"{one.series_title} ({one.pattern})" if one.pattern else one.series_title for one in sources[:5]
    ]
    more = f" and {len(sources) - 5:,} more" if len(sources) > 5 else ""
    return f"source of {', '.join(named)}{more}"


def as_document(one: ListingOverview, now: datetime) -> dict[str, Any]:
    """Return a listing as JSON shows it: without the password that an address can hold."""
    return {
        **plain_fields(one),
        "key": mask_url(one.key),
        "former_keys": [mask_url(key) for key in one.former_keys],
        "state": state_word(one, now),
        "in_words": trouble(one, now),
        "frequency_in_words": frequency_line(one),
    }


def _facts(one: ListingOverview, now: datetime) -> list[tuple[str, str]]:
    facts = [
        ("state", _state_line(one, now)),
        ("checked", frequency_line(one)),
        ("next check", _next_check(one, now)),
        ("last check", _last_check(one, now)),
        ("last success", moment(one.succeeded_at, now)),
        ("last change", moment(one.changed_at, now, never="none yet")),
        ("read by", _reader(one, now)),
        (f"site {one.host}", breaker_line(one.host_failures, one.host_open_until, one.host_error, now)),
    ]
    if one.host_per_minute is not None:
        facts.append(("pace of the site", f"{one.host_per_minute:.4g} requests a minute"))
    if one.rest_until is not None and one.rest_until > now:
        facts.append(("asked us to wait until", moment(one.rest_until, now)))
    facts += [("note", note) for note in one.health(now=now).notes]
    if one.former_keys:
        facts.append(("moved from", ", ".join(map(mask_url, one.former_keys))))
    return facts


def _state_line(one: ListingOverview, now: datetime) -> str:
    word = state_word(one, now)
    return f"{word}: {trouble(one, now)}" if one.health(now=now).kind in {"bad", "warn"} else word


def _reader(one: ListingOverview, now: datetime) -> str:
    if not one.reader:
        return f"no account: add one with `headgate account add {one.platform}`"
    failure = f"{one.error_class}: {one.error_message}" if one.error_class else ""
    return f"{one.reader}, {breaker_line(one.failures, one.open_until, failure, now)}"


def _next_check(one: ListingOverview, now: datetime) -> str:
    if one.gone_at is not None:
        return "none: it is gone; `headgate series check` tries again"
    if not one.enabled:
        return "none: it is switched off"
    if one.due_at is None:
        return "none is planned"
    when = "now" if one.due_at <= now else moment(one.due_at, now)
    told = ""
    if one.swept:
        swept = "not yet" if one.swept_at is None else relative(one.swept_at, now)
        told = f"with its whole site (last: {swept}), on its own "
    why = f"; {check_reason_text(one.reason)}" if one.checked_at is None or one.reason not in CHECKED else ""
    return f"{told}{when}{why}"


def _last_check(one: ListingOverview, now: datetime) -> str:
    why = f", because {check_reason_text(one.reason)}" if one.reason in CHECKED and one.checked_at else ""
    return f"{moment(one.checked_at, now)}{why}"
