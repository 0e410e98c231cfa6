"""Requests to send things on: one open at a time for each thing and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from headgate.domain.library.sending_on import Way
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)

RequestState = Literal["waiting", "queued", "sent", "failed", "uncertain", "cancelled"]
MAX_PLACES = 10_000
"""Places of one item that are looked at: all volumes, with several copies of each."""


@dataclass(frozen=True)
class SendRequest:
    """A wish to send a thing on, as it is stored."""

    id: UUID
    item_id: UUID
    target_id: UUID
    account_id: UUID | None
    account_name: str
    state: RequestState
    way: Way | Literal[""]
    forward_refused: bool
    asked_at: datetime | None
    run_id: UUID | None
    created_at: datetime


@dataclass(frozen=True)
class KnownThing:
    """An item that is to be sent by an account."""

    title: str
    stream: str
    """What the platform calls its channel."""
    seen: bool
    """The account reads that channel."""


@dataclass(frozen=True)
class SightedPlace:
    """Where an item was seen."""

    sighting_id: UUID
    message_key: str
    mime_type: str
    url: str
    deleted: bool
    text: str
    alone: bool
    """The message holds nothing else."""


@dataclass(frozen=True)
class RequestMessage:
    """One message of a run that sends a thing on."""

    text: str
    media_id: UUID | None
    stream: str
    """Empty unless it is forwarded."""
    key: str
    volumes: Sequence[int]


async def insert_requests(
    tx: Tx,
    item_ids: Sequence[UUID],
    *,
    target_id: UUID,
    account_id: UUID | None,
    user_id: UUID | None,
    rule_id: UUID | None = None,
    ids: Ids,
    now: datetime,
) -> list[UUID]:
    """Ask for things to be sent; returns the new requests, without those that were open already."""
    return await tx.column(
        Q["insert_requests"],
        ids=[ids.new() for _ in item_ids],
        item_ids=list(item_ids),
        target_id=target_id,
        account_id=account_id,
        user_id=user_id,
        rule_id=rule_id,
        now=now,
    )


async def list_open(tx: Tx, item_ids: Sequence[UUID], *, target_id: UUID) -> list[UUID]:
    """Return the open requests of some things to a target."""
    return await tx.column(Q["list_open"], item_ids=list(item_ids), target_id=target_id)


async def get_request(tx: Tx, request_id: UUID) -> SendRequest | None:
    return await tx.one(SendRequest, Q["get_request"], id=request_id)


async def lock_request(tx: Tx, request_id: UUID) -> SendRequest | None:
    """Return a request as it stands, and keep it so until the transaction ends."""
    return await tx.one(SendRequest, Q["lock_request"], id=request_id)


async def list_due(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due"], now=now, limit=limit)


async def set_due(tx: Tx, request_id: UUID, *, due_at: datetime) -> None:
    await tx.execute(Q["set_due"], id=request_id, due_at=due_at)


async def wait(tx: Tx, request_id: UUID, *, reason: str, due_at: datetime, asked_at: datetime | None) -> None:
    """Let a request wait, and say for what; `asked_at` counts the first time."""
    await tx.execute(Q["wait"], id=request_id, reason=reason, due_at=due_at, asked_at=asked_at)


async def queue(tx: Tx, request_id: UUID, *, run_id: UUID, way: Way) -> None:
    """Note that a run sends it from now on."""
    await tx.execute(Q["queue"], id=request_id, run_id=run_id, way=way)


async def end_request(
    tx: Tx, request_id: UUID, state: Literal["failed", "cancelled"], *, reason: str, now: datetime
) -> bool:
    """End a request that waits or is uncertain; false if it is neither."""
    return await tx.execute(Q["end_request"], id=request_id, state=state, reason=reason, now=now) == 1


async def settle_request(tx: Tx, run_id: UUID, *, now: datetime) -> None:
    """Note what came of the run of a request, or plan an upload where forwarding failed."""
    await tx.execute(Q["settle_request"], run_id=run_id, now=now)


async def reopen_request(tx: Tx, run_id: UUID) -> None:
    """Open the request of a run that goes on; raises `Refused` while a newer one is open."""
    async with tx.attempt():
        await tx.execute(Q["reopen_request"], run_id=run_id)


async def start_over(tx: Tx, request_id: UUID, *, now: datetime) -> bool:
    """Plan an ended request once more; raises `Refused` while a newer one is open."""
    async with tx.attempt():
        return await tx.execute(Q["start_over"], id=request_id, now=now) == 1


async def get_thing(tx: Tx, item_id: UUID, *, account_id: UUID) -> KnownThing | None:
    return await tx.one(KnownThing, Q["get_thing"], item_id=item_id, account_id=account_id)


async def list_places(tx: Tx, item_id: UUID) -> list[SightedPlace]:
    return await tx.all(SightedPlace, Q["list_places"], item_id=item_id, limit=MAX_PLACES)


async def list_sent_volumes(tx: Tx, run_id: UUID) -> list[int]:
    """Return the volumes of which a run has sent everything."""
    return await tx.column(Q["list_sent_volumes"], run_id=run_id)


async def insert_messages(tx: Tx, run_id: UUID, messages: Sequence[RequestMessage]) -> None:
    """Give a run the messages that send a thing on."""
    await tx.execute(
        Q["insert_messages"],
        run_id=run_id,
        texts=[message.text for message in messages],
        media_ids=[message.media_id for message in messages],
        streams=[message.stream for message in messages],
        keys=[message.key for message in messages],
        volumes=["{" + ",".join(map(str, message.volumes)) + "}" for message in messages],
    )
