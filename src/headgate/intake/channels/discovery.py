"""Discovery: which channels an account sees, and beginning to follow them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime, timedelta

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import UserError
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.lanes.places import list_places
from headgate.storage.channels import discovery, intake_settings
from headgate.storage.channels.channels import upsert_account
from headgate.storage.channels.following import Followed, Found, Whose, follow_streams
from headgate.storage.database import Database, Tx
from headgate.storage.events import Event, publish


async def discover(links: Links, account: AccountRef) -> list[FoundChannel]:
    """Return the streams that an account sees, by title; whichever process holds it is asked."""
    return streams_of(await list_places(links, account))


def streams_of(found: Sequence[FoundChannel]) -> list[FoundChannel]:
    """Return the streams among what an account sees, by title."""
    return sorted(
        (channel for channel in found if channel.kind == "stream"),
        key=lambda channel: (channel.title.casefold(), channel.key),
    )


def choose(found: Sequence[FoundChannel], keys: Sequence[str]) -> list[FoundChannel]:
    """Return the channels of these keys or titles; one that the account does not see is an error."""
    by_key = {channel.key: channel for channel in found}
    by_title = {channel.title.casefold(): channel for channel in reversed(found)}
    chosen: dict[str, FoundChannel] = {}
    for key in keys:
        channel = by_key.get(key) or by_title.get(key.casefold())
        if channel is None:
            near = difflib.get_close_matches(key, [*by_key, *(one.title for one in found)], n=3)
            raise UserError(
                f"The account sees no channel {key!r}.",
                remedy=f"Did you mean {' or '.join(repr(one) for one in near)}?" if near else "",
            )
        chosen[channel.key] = channel
    return list(chosen.values())


def home_of(links: Links, account: AccountRef) -> Whose:
    """Return where the keys that an account sees are at home: on the platform, or with the account alone."""
    scoped = links.manifest(account.platform).position_scope == "account"
    return Whose(account.id, account.platform, str(account.id) if scoped else "")


async def follow(tx: Tx, found: Sequence[FoundChannel], whose: Whose, *, ids: Ids, now: datetime) -> Followed:
    """Follow channels; known ones are refreshed, and gain a stand-by.

    A channel that has another parent than before inherits other settings, so what was seen in it is judged
    again. Settings are locked first, as every change of them does.
    """
    await intake_settings.lock_settings(tx)
    streams = [
        Found(
            channel.key,
            channel.title,
            channel.parent,
            channel.continues,
            channel.topics,
            channel.parent_title,
        )
        for channel in {channel.key: channel for channel in found}.values()
    ]
    followed = await follow_streams(tx, streams, whose, ids=ids, now=now)
    for channel_id in followed.moved:
        await intake_settings.announce_change(tx, channel_id, now=now)
    return followed


async def follow_chosen(
    tx: Tx,
    chosen: Sequence[FoundChannel],
    whose: Whose,
    links: Links,
    *,
    among: Sequence[FoundChannel],
    ids: Ids,
    now: datetime,
    every_s: float | None = None,
) -> Followed:
    """Follow what a person chose among all that an account sees, also what they removed before."""
    await discovery.forget_removed(tx, [channel.key for channel in chosen], whose)
    followed = await follow(tx, chosen, whose, ids=ids, now=now)
    await note_listed(tx, among, whose, links, now=now, every_s=every_s)
    await publish(tx, Event("channels"))
    return followed


async def note_listed(
    tx: Tx,
    found: Sequence[FoundChannel],
    whose: Whose,
    links: Links,
    *,
    now: datetime,
    every_s: float | None = None,
) -> None:
    """Remember what a person could choose from: only what appears later is new."""
    await discovery.note_seen(tx, whose.account_id, [channel.key for channel in found], now=now)
    every_s = every_s or links.manifest(whose.platform).discover_every_s
    await discovery.begin_discovery(tx, whose.account_id, due_at=now + timedelta(seconds=every_s), now=now)


async def follow_all(
    database: Database, links: Links, ids: Ids, clock: Clock, *, name: str, platform: str = "simulated"
) -> int:
    """Make sure that an account is there, and follow every stream that it sees; returns how many are new."""
    async with database.transaction() as tx:
        account_id = await upsert_account(
            tx, ids.new(), platform=platform, name=name, established=True, now=clock.now()
        )
    account = AccountRef(account_id, platform, name, established=True)
    found = await discover(links, account)
    async with database.transaction() as tx:
        home = home_of(links, account)
        followed = await follow(tx, found, home, ids=ids, now=clock.now())
        await note_listed(tx, found, home, links, now=clock.now())
    return len(followed.streams)
