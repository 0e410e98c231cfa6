"""Beginning to follow: accounts, and the streams that they can see."""

from __future__ import annotations

from headgate.intake.links import AccountRef, Links
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.storage.channels import follow_streams, upsert_account
from headgate.storage.database import Database


async def follow_all(
    database: Database, links: Links, ids: Ids, clock: Clock, *, name: str, platform: str = "simulated"
) -> int:
    """Make sure that an account is there, and follow every stream that it sees; returns how many are new."""
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, ids.new(), platform=platform, name=name, established=True, now=clock.now()
        )
    account = AccountRef(account_id, platform, name, established=True)
    async with links.call(account, "heads") as link:
        found = [channel for channel in await link.discover() if channel.kind == "stream"]
    scope = str(account_id) if links.manifest(platform).position_scope == "account" else ""
    async with database.transaction() as tx:
        return await follow_streams(
            tx,
            account_id=account_id,
            platform=platform,
            scope=scope,
            ids=[ids.new() for _ in found],
            keys=[channel.key for channel in found],
            titles=[channel.title for channel in found],
            now=clock.now(),
        )
