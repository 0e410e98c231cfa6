"""Answers for other processes what an account sees that this one holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import Elsewhere, RateLimited, WorkError, error_class
from headgate.jobs.job import Job
from headgate.jobs.kinds import Kind
from headgate.lanes.links import AccountRef, Links
from headgate.lanes.places import KIND, PRIORITY, ask_platform
from headgate.storage.channels.account_questions import answer_question, get_question
from headgate.storage.streams.watches import get_watcher


@dataclass(frozen=True)
class Answering:
    """Asks the platform, whatever its answer: the asker decides what an error means."""

    links: Links

    def kind(self) -> Kind[UUID]:
        return Kind(name=KIND, parse_key=UUID, handle=self.answer, priority=PRIORITY)

    async def answer(self, job: Job[UUID]) -> None:
        async with job.database.transaction() as tx:
            question = await get_question(tx, job.key)
            watcher = await get_watcher(tx, question.account_id) if question else None
        if watcher is None:
            return
        account = AccountRef(watcher.id, watcher.platform, watcher.name, watcher.established, watcher.sign_in)
        found: Sequence[FoundChannel] = ()
        error: WorkError | None = None
        try:
            found = await ask_platform(self.links, account)
        except (RateLimited, Elsewhere):
            raise
        except WorkError as refused:
            error = refused
        async with job.finish() as tx:
            await answer_question(
                tx,
                job.key,
                [asdict(one) for one in found],
                error_class=error_class(error) if error else "",
                error=str(error) if error else "",
            )
