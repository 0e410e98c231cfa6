"""Actions on what an account sees: listing it, and following some of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import RateLimited, UserError, WorkError
from headgate.domain.streams.channel_settings import FetchWhat
from headgate.intake.channels import discovery
from headgate.intake.channels.settings import SettingsLayer, change_settings
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels.channels import Account
from headgate.storage.channels.following import Followed, FollowedKey, list_followed
from headgate.storage.database import Database

PATIENCE_S = 15.0
"""How long a person waits for a place in the account's pace."""


@dataclass(frozen=True)
class Visible:
    """The streams that an account sees, by title, and which of them are followed."""

    channels: Sequence[FoundChannel]
    followed: Sequence[FollowedKey]


@dataclass(frozen=True)
class Chosen:
    """What a person chose, and what following it changed."""

    channels: Sequence[FoundChannel]
    followed: Followed


@dataclass(frozen=True)
class ChannelChoice:
    """Lists what accounts see, and follows what people choose of it."""

    links: Links
    database: Database
    ids: Ids
    clock: Clock
    discover_every_s: float | None = None

    async def list_visible(self, account: Account) -> Visible:
        """Ask the platform what an account sees."""
        reference = _reference(account)
        found = await self._discover(account, reference)
        async with self.database.transaction() as tx:
            home = discovery.home_of(self.links, reference)
            followed = await list_followed(tx, [one.key for one in found], home)
        return Visible(found, followed)

    async def follow(
        self, account: Account, keys: Sequence[str] | None, *, fetch: FetchWhat | None = None
    ) -> Chosen:
        """Follow the channels of these keys or titles; None: everything that the account sees."""
        reference = _reference(account)
        found = await self._discover(account, reference)
        chosen = found if keys is None else discovery.choose(found, keys)
        now = self.clock.now()
        async with self.database.transaction() as tx:
            done = await discovery.follow_chosen(
                tx,
                chosen,
                discovery.home_of(self.links, reference),
                self.links,
                among=found,
                ids=self.ids,
                now=now,
                every_s=self.discover_every_s,
            )
            if fetch is not None:
                for channel_id in done.streams:
                    await change_settings(tx, SettingsLayer(channel_id), {"fetch": fetch}, now=now)
        return Chosen(chosen, done)

    async def _discover(self, account: Account, reference: AccountRef) -> list[FoundChannel]:
        try:
            return await self._discover_in_time(reference)
        except WorkError as error:
            raise UserError(
                f"The channels of {account.name} cannot be listed: {error}.", command="headgate account list"
            ) from error

    async def _discover_in_time(self, reference: AccountRef) -> list[FoundChannel]:
        """Discover when the pace allows it; a person who looks a few times in a row waits some seconds."""
        clock = self.links.lanes.clock
        gives_up_s = clock.monotonic() + PATIENCE_S
        while True:
            try:
                return await discovery.discover(self.links, reference)
            except RateLimited as error:
                if clock.monotonic() + error.retry_after_s > gives_up_s:
                    raise
                await clock.sleep(error.retry_after_s)


def _reference(account: Account) -> AccountRef:
    return AccountRef(account.id, account.platform, account.name, account.established, account.sign_in)
