"""Looks for what a rule sent in the target's history, some time after the platform said that it arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headgate.domain.errors import Gone, Malformed
from headgate.domain.reminders.recognition import Sought
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.kernel.clock import Clock
from headgate.lanes.links import AccountRef, Links
from headgate.outflow.library_sends.rules import SEND_RULES_CHANGED
from headgate.outflow.sending.endings import SENDS_CHANGED
from headgate.storage.database import Tx
from headgate.storage.events import publish
from headgate.storage.library_sends import rules
from headgate.storage.library_sends.rules import SentMessage
from headgate.storage.streams.watches import get_watcher

KIND = "verify_send"
MAX_TRIES = 3
PAUSE = timedelta(minutes=10)
"""Until the next try; histories of platforms lag."""


class UnverifiedRows:
    """What rules sent and was not looked for yet, as the work of the kind `verify_send`."""

    async def list_due(self, tx: Tx, *, now: datetime, limit: int) -> list[str]:
        return await rules.list_to_verify(tx, now=now, limit=limit)

    async def postpone(self, tx: Tx, key: UUID, *, until: datetime, now: datetime) -> None:
        await rules.set_verify_at(tx, key, verify_at=until)

    async def reopen(self, tx: Tx, key: UUID, *, now: datetime) -> None:
        await rules.set_verify_at(tx, key, verify_at=now)


@dataclass(frozen=True)
class Verifier:
    """Notes whether what was sent is there."""

    links: Links
    clock: Clock

    def kind(self) -> Kind[UUID]:
        return Kind(KIND, UUID, self.verify, UnverifiedRows(), runner="bulk")

    async def verify(self, job: Job[UUID]) -> None:
        """Look for the messages of a request; what is not there is looked for again a few times."""
        async with job.database.transaction() as tx:
            messages = await rules.list_sent_messages(tx, job.key)
            watcher = (
                await get_watcher(tx, messages[0].account_id) if messages and messages[0].account_id else None
            )
        found = False
        if watcher is not None:
            account = AccountRef(
                watcher.id, watcher.platform, watcher.name, watcher.established, watcher.sign_in
            )
            found = await self._are_there(account, messages)
        async with job.finish() as tx:
            tries = messages[0].verify_tries + 1 if messages else MAX_TRIES
            if found:
                await rules.set_verification(tx, job.key, "found", verify_at=None)
            elif watcher is None or tries >= MAX_TRIES:
                await rules.set_verification(tx, job.key, "missing", verify_at=None)
            else:
                later = self.clock.now() + PAUSE * tries
                await rules.set_verification(tx, job.key, "due", verify_at=later)
            await publish(tx, SENDS_CHANGED)
            await publish(tx, SEND_RULES_CHANGED)

    async def _are_there(self, account: AccountRef, messages: Sequence[SentMessage]) -> bool:
        for message in messages:
            try:
                async with self.links.call(account, "read") as link:
                    sought = Sought(message_key=message.message_key)
                    sent = await link.find_sent(
                        message.target_key, sought, key=message.key, since=message.since
                    )
            except (Gone, Malformed):
                return False
            if sent is None:
                return False
        return True
