"""A listing that moves for good keeps everything, or is joined with the one that is followed there."""

from __future__ import annotations

from datetime import datetime

from headgate.intake.channels.requests import remove_channel
from headgate.intake.listings.addresses import ListingAddresses
from headgate.jobs.kinds import Wake
from headgate.jobs.wake import enqueue
from headgate.kernel.logs import get_logger, mask_url
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.listings import hosts, joining, listings, releases
from headgate.storage.listings.hosts import HostName
from headgate.storage.listings.listings import ListingRow
from headgate.storage.listings.news import NOTIFY

log = get_logger("intake")


async def move(
    tx: Tx, listing: ListingRow, addresses: ListingAddresses, *, address: str, host: HostName, now: datetime
) -> bool:
    """Follow a listing to its new address; true if it was joined with the one there, and is no more."""
    key = await addresses.key_of(address)
    into_id = await joining.find_other(tx, listing.channel_id, platform=listing.platform, key=key)
    if into_id is None:
        await hosts.upsert_host(tx, host, swept=listing.swept, now=now)
        if await listings.move_listing(tx, listing.channel_id, key=key, host=host.name):
            await addresses.keep(listing.channel_id, address)
            await joining.note_alias(tx, listing.channel_id, key=listing.key, now=now)
        return False
    await listings.lock_listings(tx, [listing.channel_id, into_id])
    if await joining.brings_other_series(tx, from_id=listing.channel_id, into_id=into_id):
        await joining.note_double(tx, listing.channel_id, into_id=into_id)
        return False
    left = await joining.move_all(tx, from_id=listing.channel_id, into_id=into_id)
    await remove_channel(tx, listing.channel_id, now=now)
    await releases.leave_chapters(tx, left)
    await joining.note_alias(tx, into_id, key=listing.key, now=now)
    # Whatever the old address had that the new one has not is found by a look that knows all its series.
    await listings.ask_listing(tx, into_id, now=now)
    await enqueue(tx, [Wake("poll", str(into_id)), Wake(NOTIFY, str(into_id))])
    log.warning(
        "a feed moved onto one that is followed; the two are joined",
        moved_from=mask_url(listing.key),
        moved_to=mask_url(key),
    )
    await publish(tx, Event("series"))
    return True
