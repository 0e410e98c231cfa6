"""What the states of things are called, on pages and in the CLI alike."""

from __future__ import annotations

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
}
"""How a run was started."""

SCAN_TRIGGERS = {
    "schedule": "on schedule",
    "person": "started by a person",
    "reset": "started over by a person",
}
"""How a scan was started."""

AT_CLOSE = {"stop": "the rest is skipped", "carry": "the rest is sent in the next window"}
"""What happens when the delivery window closes before everything is sent."""


def state_text(state: str) -> str:
    """Return what a state is called; an unknown one says itself."""
    return STATES.get(state, state.replace("_", " "))
