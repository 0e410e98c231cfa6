"""Hosts of listings: their breakers, and how far the sweeps of whole sites are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from headgate.domain.breaker import Breaker
from headgate.storage.database import Tx
from headgate.storage.queries import load_queries

Q = load_queries(__name__)


@dataclass(frozen=True)
class HostName:
    """Which host of which platform; as text it is the key of a sweep."""

    platform: str
    name: str

    def __str__(self) -> str:
        return f"{self.platform}/{self.name}"

    @property
    def lane_owner(self) -> str:
        """Return who owns the lanes of calls to this host."""
        return f"host:{self}"

    @classmethod
    def parse(cls, text: str) -> HostName:
        platform, slash, name = text.partition("/")
        if not slash:
            raise ValueError("a host is named as platform/name")
        return cls(platform, name)


@dataclass(frozen=True)
class HostRow:
    """A site to be swept, and who can."""

    platform: str
    name: str
    cursor: dict[str, str]
    due_at: datetime | None
    wake_seq: int
    failures: int
    opened: int
    open_until: datetime | None
    account_id: UUID | None
    account_name: str
    established: bool
    sign_in: int

    @property
    def breaker(self) -> Breaker:
        return Breaker(self.failures, self.opened, self.open_until)


@dataclass(frozen=True)
class SweptListing:
    """A listing that a sweep brought something of."""

    key: str
    channel_id: UUID
    arrivals: list[datetime]
    first_poll: bool


async def upsert_host(tx: Tx, host: HostName, *, swept: bool, now: datetime) -> None:
    await tx.execute(Q["upsert_host"], **vars(host), swept=swept, now=now)


async def claim_probe(tx: Tx, host: HostName, *, until: datetime, now: datetime) -> bool:
    """Take the one try of a host that is half open; the others see it open until then."""
    return bool(await tx.value(Q["claim_probe"], **vars(host), until=until, now=now))


async def lock_host(tx: Tx, host: HostName) -> Breaker:
    """Return a host's breaker, and keep it as it is until the transaction ends."""
    return await tx.one(Breaker, Q["lock_host"], **vars(host)) or Breaker()


async def fail_host(
    tx: Tx, host: HostName, breaker: Breaker, *, error_class: str, error_message: str, now: datetime
) -> None:
    await tx.execute(
        Q["fail_host"],
        **vars(host),
        **vars(breaker),
        error_class=error_class,
        error_message=error_message,
        now=now,
    )


async def close_host_breaker(tx: Tx, host: HostName, *, now: datetime) -> None:
    """Close a host's breaker and make its waiting listings due."""
    await tx.execute(Q["close_host_breaker"], **vars(host), now=now)


async def list_due_hosts(tx: Tx, *, now: datetime, limit: int) -> list[str]:
    return await tx.column(Q["list_due_hosts"], now=now, limit=limit)


async def get_host(tx: Tx, host: HostName) -> HostRow | None:
    return await tx.one(HostRow, Q["get_host"], **vars(host))


async def plan_host(
    tx: Tx,
    host: HostRow,
    *,
    due_at: datetime | None,
    now: datetime,
    cursor: Mapping[str, str] | None = None,
    calls: int = 0,
    swept: bool = False,
) -> None:
    """Write down how far a sweep is and when it goes on."""
    await tx.execute(
        Q["plan_host"],
        platform=host.platform,
        name=host.name,
        seen=host.wake_seq,
        cursor=None if cursor is None else Jsonb(dict(cursor)),
        calls=calls,
        due_at=due_at,
        swept_at=now if swept else None,
        now=now,
    )


async def set_host_due(tx: Tx, host: HostName, *, due_at: datetime | None) -> None:
    await tx.execute(Q["set_host_due"], **vars(host), due_at=due_at)


async def wake_host_listings(tx: Tx, host: HostName, *, over: timedelta, now: datetime) -> None:
    """Make every listing of a host due, spread over a while."""
    await tx.execute(Q["wake_host_listings"], **vars(host), over=over, now=now)


async def respace_listings(tx: Tx, host: HostName, *, apart: timedelta, now: datetime) -> None:
    """Plan anew those listings of a host that wait for its pace, so far apart and in the same order."""
    await tx.execute(Q["respace_listings"], **vars(host), apart=apart, now=now)


async def find_swept(tx: Tx, host: HostName, keys: Sequence[str]) -> list[SweptListing]:
    """Return those of the listings that are followed here."""
    return await tx.all(SweptListing, Q["find_swept"], **vars(host), keys=list(keys))


async def note_swept(tx: Tx, arrivals: Mapping[UUID, Sequence[datetime]], *, now: datetime) -> None:
    """Note what a sweep brought: the rhythm of listings, and that they have changed."""
    if arrivals:
        await tx.execute(
            Q["note_swept"],
            channel_ids=list(arrivals),
            arrivals=["{" + ",".join(at.isoformat() for at in times) + "}" for times in arrivals.values()],
            now=now,
        )
