"""One message again, by its key: fetched by whoever reads its stream, and taken in like any other."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from headgate.domain.errors import AuthFailed, Elsewhere, RateLimited, Restricted, WorkError
from headgate.domain.messages import Message
from headgate.domain.pacing import UnknownLane
from headgate.intake.accept import accept_messages
from headgate.intake.rules import RulesCache
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.accounts import note_account
from headgate.lanes.links import AccountRef, Links
from headgate.storage.database import Database, DatabaseAway, Tx
from headgate.storage.misses import drop_misses
from headgate.storage.readers import Reader, get_reader
from headgate.storage.sightings import mark_deleted


@dataclass(frozen=True)
class Found:
    """The platform answered; without a message if it was deleted."""

    message: Message | None


@dataclass(frozen=True)
class NobodyCan:
    """No account can fetch it at the moment, or the channel is switched off: nothing was tried."""


@dataclass(frozen=True)
class Failed:
    """The fetch failed, and that is the message's matter."""

    error: WorkError


Fetched = Found | NobodyCan | Failed


@dataclass
class SingleMessages:
    """Fetches single messages and takes them in."""

    links: Links
    rules: RulesCache
    clock: Clock
    ids: Ids

    async def fetch(self, database: Database, channel_id: UUID, *, message_key: str) -> Fetched:
        """Make the one call; what only asks to wait, or is not the message's fault, is raised."""
        async with database.transaction() as tx:
            reader = await get_reader(tx, channel_id)
        account = None if reader is None else _account_of(reader)
        if reader is None or account is None or not reader.enabled:
            return NobodyCan()
        try:
            async with self.links.call(account, "read") as link:
                return Found(await link.message(reader.stream_key, message_key))
        except (RateLimited, Elsewhere, DatabaseAway, UnknownLane):
            raise
        except (AuthFailed, Restricted) as error:
            await note_account(database, account, error, now=self.clock.now())
            return NobodyCan()
        except WorkError as error:
            return Failed(error)

    async def take(self, tx: Tx, channel_id: UUID, *, message_key: str, message: Message | None) -> None:
        """Store what was found; of a message that is gone, that it is gone."""
        now = self.clock.now()
        if message is None:
            await mark_deleted(tx, channel_id, [message_key], now=now)
            await drop_misses(tx, channel_id, message_key=message_key)
            return
        rules = await self.rules.get(tx, channel_id)
        if rules.enabled:
            await accept_messages(tx, channel_id, [message], rules=rules, ids=self.ids, now=now)


def _account_of(reader: Reader) -> AccountRef | None:
    if reader.account_id is None:
        return None
    return AccountRef(
        reader.account_id, reader.platform, reader.account_name, reader.established, reader.sign_in
    )
