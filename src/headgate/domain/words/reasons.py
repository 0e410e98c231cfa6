"""Why something is so, in plain words: checks of streams, what is kept, and the pace of an account."""

from __future__ import annotations

from headgate.domain.pacing import Cause
from headgate.domain.streams.filters import Verdict
from headgate.domain.streams.schedule import DueReason, Reason

STREAM_REASONS: dict[Reason | DueReason, str] = {
    "asked": "a person asked for it",
    "never_scanned": "it was never read before",
    "woken": "the platform announced something new",
    "changed": "there is something to read",
    "head_unknown": "its newest message is not known yet",
    "recent_idle": "it was read a moment ago and had nothing new",
    "cold": "nothing new for a long time, so it is checked rarely",
    "caught_up": "everything up to the newest message was read",
    "breaker_open": "reading it failed; it is retried later",
    "disabled": "it is switched off",
    "settling": "very recent messages are read again, to catch late ones",
    "retry": "a range that could not be read is retried",
    "unheard": "live updates were interrupted, so it is checked for missed messages",
    "reader_changed": "the account that reads it changed or came back",
    "tier_changed": "a person changed how often it is checked",
    "clock_changed": "the clock was set back",
    "gave_up": "checking it failed; it is retried later, or when someone retries the failed job",
    "replayed": "someone retried a failed job",
}
"""Why a channel is read, checked or left alone."""

READING = frozenset({"asked", "never_scanned", "woken", "changed", "head_unknown"})
"""Reasons for reading; the others are reasons for leaving a stream alone."""

VERDICTS: dict[Verdict, str] = {
    "kept": "kept",
    "webhook": "not kept: a webhook sent it",
    "bot": "not kept: a bot sent it",
    "author": "not kept: who sent it is not on the list",
    "link_pattern": "not kept: the link matches no pattern",
    "mime_type": "not kept: its type is not on the list",
    "extension": "not kept: its ending is not on the list",
    "too_small": "not kept: it is too small",
    "too_large": "not kept: it is too large",
    "topic_disabled": "not kept: its topic is switched off",
}
"""What the settings of a channel say of something that was seen."""

PACE_CAUSES: dict[Cause, str] = {
    "created": "unchanged since the start",
    "limit_signal": "the platform asked to slow down",
    "recovered": "speeding up again after the platform asked to slow down",
    "warmed_up": "a new account speeds up day by day",
    "adjusted": "a person set it",
    "settings": "the settings of Headgate or of the account changed",
}
"""Why an account sends as fast as it does."""

_BY_NAME: dict[str, str] = {**STREAM_REASONS}
_VERDICT_BY_NAME: dict[str, str] = {**VERDICTS}


def stream_reason_text(reason: str) -> str:
    """Say why a stream is read or left alone; an unknown reason says itself."""
    return _BY_NAME.get(reason, reason.replace("_", " "))


def verdict_text(verdict: str) -> str:
    """Say what the settings make of something that was seen; an unknown verdict says itself."""
    return _VERDICT_BY_NAME.get(verdict, verdict.replace("_", " "))
