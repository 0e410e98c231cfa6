"""Messages of which nobody knows whether they were sent: look for them in the target's history."""

from __future__ import annotations

from headgate.domain.errors import Gone, Malformed
from headgate.lanes.links import AccountRef, Links
from headgate.storage.sending.sending import Result, Share

UNCERTAIN = "it may have been sent: no answer came, and the platform cannot tell"


async def look_for(links: Links, account: AccountRef, share: Share, *, last: bool) -> Result:
    """Return that the message was sent, if the platform has it, and else that nobody can tell."""
    try:
        async with links.call(account, "read") as link:
            found = await link.find_sent(share.target_key, key=share.key, since=share.started_at)
    except (Gone, Malformed):
        found = None
    if found is None:
        return Result(
            share.delivery,
            share.number,
            "uncertain",
            share.attempts,
            error=UNCERTAIN,
            delivery_state="uncertain",
        )
    return Result(
        share.delivery,
        share.number,
        "sent",
        share.attempts,
        message_key=found.key,
        sent_at=found.sent_at,
        delivery_state="sent" if last else "",
    )
