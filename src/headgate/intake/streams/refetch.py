"""Fetches one message again by its key, through the account that reads its stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import AccountTrouble, Elsewhere, Gone, Malformed, RateLimited, WorkError
from headgate.domain.pacing import UnknownLane
from headgate.domain.streams.messages import Message
from headgate.domain.text import is_stand_in
from headgate.intake.channels.rules import RulesCache
from headgate.intake.streams.accept import accept_messages
from headgate.intake.streams.deletions import delete_messages
from headgate.intake.streams.placing import place_known
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Database, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.streams import streams
from headgate.storage.streams.misses import drop_misses
from headgate.storage.streams.watches import Reader, get_reader


@dataclass(frozen=True)
class Refetched:
    """The platform answered; without a message if it was deleted."""

    message: Message | None
    began_at: datetime
    """When it was asked: what was deleted later is not brought back by the answer."""


@dataclass(frozen=True)
class NobodyCan:
    """No account can fetch it at the moment, or the channel is switched off: nothing was tried."""


@dataclass(frozen=True)
class FailedRefetch:
    """The message could not be fetched or stored, although its stream can be read."""

    error: WorkError


Fetched = Refetched | NobodyCan | FailedRefetch


@dataclass
class SingleMessages:
    """Fetches single messages and takes them in."""

    links: Links
    rules: RulesCache
    clock: Clock
    ids: Ids

    async def fetch(self, database: Database, channel_id: UUID, *, message_key: str) -> Fetched:
        """Make the one call; what only asks to wait, or is not the message's fault, is raised."""
        if is_stand_in(message_key):
            return FailedRefetch(Malformed("its key cannot be stored, so it cannot be asked for"))
        began_at = self.clock.now()
        async with database.transaction() as tx:
            reader = await get_reader(tx, channel_id, now=began_at)
        account = None if reader is None else _account_of(reader)
        if reader is None or account is None or not reader.enabled:
            return NobodyCan()
        try:
            async with self.links.call(account, "read") as link:
                return Refetched(await link.message(reader.stream_key, message_key), began_at)
        except (RateLimited, Elsewhere, DatabaseAway, UnknownLane):
            raise
        except AccountTrouble:
            return NobodyCan()
        except WorkError as error:
            if isinstance(error, Malformed) or await self.answers(account, reader.stream_key):
                return FailedRefetch(error)
            return NobodyCan()

    async def answers(self, account: AccountRef, stream_key: str) -> bool:
        """Tell the message's trouble from the platform's: an outage must not use up attempts."""
        return await self.sees(account, stream_key) is True

    async def sees(self, account: AccountRef, stream_key: str) -> bool | None:
        """Tell whether an account can see a stream; nothing if the platform does not answer."""
        try:
            async with self.links.call(account, "heads") as link:
                return stream_key in await link.heads([stream_key])
        except (RateLimited, Elsewhere, DatabaseAway, UnknownLane):
            raise
        except Gone:
            return False
        except WorkError:
            return None

    async def take(self, tx: Tx, channel_id: UUID, *, message_key: str, fetched: Fetched) -> Fetched:
        """Store what was found; of a message that is gone, that it is gone.

        Returns `Refetched` only if nothing is left to do: what could not be stored is as good as not fetched.
        """
        if not isinstance(fetched, Refetched):
            return fetched
        now, message = self.clock.now(), fetched.message
        rules = await self.rules.get(tx, channel_id)
        if message is None:
            await streams.lock_stream(tx, channel_id)
            await delete_messages(tx, channel_id, [message_key], rules=rules, now=now)
            await drop_misses(tx, channel_id, message_key=message_key)
            return fetched
        if not rules.enabled:
            return NobodyCan()
        await streams.lock_stream(tx, channel_id)
        message = await place_known(tx, channel_id, message)
        if message is None:
            return fetched
        accepted = await accept_messages(
            tx, channel_id, [message], rules=rules, ids=self.ids, now=now, seen_at=fetched.began_at
        )
        if reason := accepted.unfit.get(message.key):
            return FailedRefetch(Malformed(reason))
        return fetched


def _account_of(reader: Reader) -> AccountRef | None:
    if reader.account_id is None:
        return None
    return AccountRef(
        reader.account_id, reader.platform, reader.account_name, reader.established, reader.sign_in
    )
