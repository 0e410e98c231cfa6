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

    look: bool
    reason: PollReason
    due_at: datetime | None = None


def decide_poll(stand: ListingFacts, *, now: datetime) -> PollDecision:
    """Apply the rules in their order."""
    if not stand.enabled:
        return PollDecision(look=False, reason="disabled")
    if not stand.has_reader:
        return PollDecision(look=False, reason="no_reader", due_at=now + timedelta(seconds=NO_READER_S))
    if stand.asked:
        return PollDecision(look=True, reason="asked")
    if stand.gone:
        return PollDecision(look=False, reason="gone")
    if state_of(stand.host, now=now) == "open":
        return PollDecision(look=False, reason="host_open", due_at=stand.host.open_until)
    if state_of(stand.watch, now=now) == "open":
        return PollDecision(look=False, reason="breaker_open", due_at=stand.watch.open_until)
    if stand.rest_until is not None and stand.rest_until > now:
        return PollDecision(look=False, reason="resting", due_at=stand.rest_until)
    return PollDecision(look=True, reason="due" if stand.polled else "never_polled")
