"""Whether a due listing is checked now: one pure decision with a named reason, which is stored and shown.

The rules in their order; a switch outranks everything, and a person who asks all the rest.

    disabled      the channel or its parent is switched off
    no_reader     no account can check it at the moment
    asked         a person asked for a check now
    gone          the source said that it is gone for good
    host_open     its host does not answer and is left alone; the next try has its time
    breaker_open  it could not be read; the next try has its time
    resting       the source asked to be left alone for a while
    never_polled  it was never checked
    due           it is its time
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headgate.domain.breaker import Breaker, state_of

PollReason = Literal[
    "disabled",
    "asked",
    "gone",
    "no_reader",
    "host_open",
    "breaker_open",
    "resting",
    "never_polled",
    "due",
]
NO_READER_S = 1800.0


@dataclass(frozen=True)
class ListingFacts:
    """Where a listing stands, as far as its schedule cares."""

    enabled: bool
    asked: bool
    gone: bool
    has_reader: bool
    polled: bool
    host: Breaker
    watch: Breaker
    rest_until: datetime | None


@dataclass(frozen=True)
class PollDecision:
    """Look or not, why, and if not: when to decide again."""

    poll: bool
    reason: PollReason
    due_at: datetime | None = None


def decide_poll(facts: ListingFacts, *, now: datetime) -> PollDecision:
    """Apply the rules in their order."""
    if not facts.enabled:
        return PollDecision(poll=False, reason="disabled")
    if not facts.has_reader:
        return PollDecision(poll=False, reason="no_reader", due_at=now + timedelta(seconds=NO_READER_S))
    if facts.asked:
        return PollDecision(poll=True, reason="asked")
    if facts.gone:
        return PollDecision(poll=False, reason="gone")
    if state_of(facts.host, now=now) == "open":
        return PollDecision(poll=False, reason="host_open", due_at=facts.host.open_until)
    if state_of(facts.watch, now=now) == "open":
        return PollDecision(poll=False, reason="breaker_open", due_at=facts.watch.open_until)
    if facts.rest_until is not None and facts.rest_until > now:
        return PollDecision(poll=False, reason="resting", due_at=facts.rest_until)
    return PollDecision(poll=True, reason="due" if facts.polled else "never_polled")
