"""The knobs of the schedule, as they hold for one channel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knobs:
    """How often a stream is checked."""

    skip_window_s: float = 300.0
    """For this long after a truly idle scan, only a person or a live event makes a stream due."""
    idle_threshold: int = 5
    """After so many truly idle scans in a row the interval is multiplied."""
    every_nth: int = 5
    """By so much."""
    often_s: float = 300.0
    normal_s: float = 1800.0
    rarely_s: float = 14_400.0
    live_s: float = 14_400.0
    """With a healthy live listener the schedule is only a safety net."""


@dataclass(frozen=True)
class IntakeKnobs(Knobs):
    """The same for the whole deployment, with what no channel sets for itself."""

    edit_window_s: float | None = None
    """Instead of the platform's: edits of messages up to this age are looked for; 0 looks for none."""
    reread_every_s: float = 86_400.0
    """How often recent messages are read again where no listener hears of edits."""
    discover_every_s: float | None = None
    """Instead of the platform's: how often an account's channels are listed again."""
