"""What an account sees: asked here, or by the process that holds the account.

A command or a page may want it of an exclusive account while a worker holds it. Then the question is a row
and a job, which goes to the holder like any other job of the account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from uuid import uuid4

from headgate.connectors.protocol import FoundChannel
from headgate.domain.errors import (
    AuthFailed,
    Banned,
    HeldElsewhere,
    Restricted,
    Transient,
    WorkError,
)
from headgate.lanes.links import AccountRef, Links
from headgate.storage.channels import account_questions
from headgate.storage.jobs.account_holds import get_hold
from headgate.storage.jobs.engine import enqueue_jobs

KIND = "list_places"
PRIORITY = 10
PATIENCE_S = 30.0
LOOK_S = 0.2
_ERRORS: Mapping[str, type[WorkError]] = MappingProxyType(
    {error.__name__: error for error in (AuthFailed, Restricted, Banned)}
)


async def list_places(links: Links, account: AccountRef) -> Sequence[FoundChannel]:
    """Return the channels, listings and targets that an account sees."""
    try:
        return await ask_platform(links, account)
    except HeldElsewhere as error:
        return await _ask_holder(links, account, error)


async def ask_platform(links: Links, account: AccountRef) -> Sequence[FoundChannel]:
    async with links.call(account, "read") as link:
        return await link.discover()


async def _ask_holder(links: Links, account: AccountRef, held: HeldElsewhere) -> Sequence[FoundChannel]:
    database, clock = links.lanes.database, links.lanes.clock
    question_id = uuid4()
    async with database.transaction() as tx:
        await account_questions.insert_question(tx, question_id, account.id, now=clock.now())
        await enqueue_jobs(tx, kinds=[KIND], keys=[str(question_id)], priorities=[PRIORITY])
    ends_at_s = clock.monotonic() + PATIENCE_S
    try:
        while clock.monotonic() < ends_at_s:
            async with database.autocommit() as tx:
                answer = await account_questions.get_question(tx, question_id)
                hold = await get_hold(tx, account.id)
            if answer is None or answer.answered:
                return _read(answer)
            if hold is None:
                # Its holder is gone, and there may be no worker at all.
                return await list_places(links, account)
            await clock.sleep(LOOK_S)
    finally:
        async with database.transaction() as tx:
            await account_questions.delete_question(tx, question_id)
    raise Transient(f"{held.holder or 'the process that holds the account'} did not answer in time")


def _read(answer: account_questions.AccountQuestion | None) -> Sequence[FoundChannel]:
    if answer is None:
        raise Transient("the account was removed")
    if answer.error:
        raise _ERRORS.get(answer.error_class, Transient)(answer.error)
    return [replace(FoundChannel(**one), topics=tuple(one["topics"])) for one in answer.found]
