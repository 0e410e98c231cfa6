"""What the states of things are called, on pages and in the CLI alike."""

from __future__ import annotations

from headgate.domain.reminders.run_results import SkipReason

STATES = {
    # Reminders and accounts.
    "active": "active",
    "paused": "paused",
    "archived": "archived",
    "needs_login": "needs login",
    "restricted": "restricted",
    "banned": "banned",
    # Runs, deliveries, messages, pushes.
    "waiting": "waiting",
    "running": "running",
    "success": "success",
    "partial": "partial",
    "failed": "failed",
    "cancelled": "cancelled",
    "missed": "missed",
    "pending": "pending",
    "planned": "pending",
    "sending": "sending",
    "sent": "sent",
    "skipped": "skipped",
    "uncertain": "uncertain",
    # Scans.
    "QUEUED": "queued",
    "RUNNING": "running",
    "SUCCEEDED": "succeeded",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
    # Failed jobs and failed items.
    "open": "open",
    "replayed": "retried",
    "discarded": "discarded",
    "abandoned": "given up",
}

JOB_STATES = {
    "queued": "queued",
    "picked": "running",
    "failed": "held",
    "successful": "done",
    "exception": "failed try",
    "canceled": "cancelled",
    "deleted": "deleted",
}
"""The engine's words, and ours."""

TRIGGERS = {
    "schedule": "on schedule",
    "person": "by hand",
    "test": "as a test",
    "remainder": "to send the rest of another run",
    "library": "from the library",
}
"""How a run was started."""

SCAN_TRIGGERS = {
    "schedule": "on schedule",
    "person": "started by a person",
    "reset": "started over by a person",
}
"""How a scan was started."""

SKIPPED: dict[SkipReason, str] = {
    "window_closed": "delivery window closed",
    "cancelled": "cancelled",
    "passed_on": "passed on to {account}",
}
"""Why a group did not get the message of a run."""

ACCOUNT_TROUBLE = {
    "needs_login": "must sign in again",
    "restricted": "is restricted",
    "banned": "is banned",
}
"""Why an account cannot send."""

SENDER_STOPPED = "stopped by an error, tried again later; see the failed jobs"
ACCOUNT_BACK = "the account can send again"

AT_CLOSE = {"stop": "the rest is skipped", "carry": "the rest is sent in the next window"}
"""What happens when the delivery window closes before everything is sent."""


def state_text(state: str) -> str:
    """Return what a state is called; an unknown one says itself."""
    return STATES.get(state, state.replace("_", " "))


def skip_text(reason: SkipReason, *, account: str = "") -> str:
    """Say why a group was skipped; `account` is the one that sends to it instead."""
    return SKIPPED[reason].format(account=account)


def account_trouble_text(name: str, state: str, reason: str) -> str:
    """Say why the runs of an account wait for it."""
    return f"the account {name} {ACCOUNT_TROUBLE[state]}" + (f": {reason}" if reason else "")
