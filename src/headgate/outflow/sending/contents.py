"""What a message says to one group."""

from __future__ import annotations

from headgate.connectors.protocol import Part
from headgate.domain.reminders.templates import Values, fill
from headgate.storage.sending.sending import DueRun, Share


def part_of(run: DueRun, share: Share, *, handle: str) -> Part:
    """Return a message with its variables filled in, and the file that was uploaded for it."""
    # Use the start of the delivery, so that every repeat of a message has the same text.
    values = Values.at(
        share.started_at,
        zone=run.zone,
        group=share.target_title,
        account=run.account_name,
        number=share.delivery,
        total=run.total,
    )
    return Part(fill(share.text, values), handle)
