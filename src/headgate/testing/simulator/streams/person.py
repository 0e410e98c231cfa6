"""The person whose Headgate it is: asks, switches and sets things in the middle of everything.

Every act is a transaction by the functions that the commands use. What was asked for when is noted, so that
the judgement can tell which calls were forbidden from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from headgate.catalogue.files import fetch_items
from headgate.domain.errors import AuthFailed, Restricted, UserError, WorkError
from headgate.domain.words.frequency import FrequencyChoice, chosen_tier
from headgate.intake.channels import accounts, requests
from headgate.intake.streams.misses import retry_misses
from headgate.jobs.letters import replay
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.storage.channels import intake_settings
from headgate.storage.channels.channels import list_accounts
from headgate.storage.channels.requests import Direction, ScanWish, Tier
from headgate.storage.database import Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.queries import QueryFile
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.process import Product
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.streams.group_rules import RuleKeeper
from headgate.testing.simulator.streams.grouping import Grouper

T = TypeVar("T")

Q = QueryFile(
    "person",
    """
-- name: list_streams
select c.id, c.key, coalesce(a.name, '') as owner, c.message_scan_enabled as enabled,
       s.sampled_floor is not null as sampled,
       array(select t.key from topic t where t.channel_id = c.id order by t.key) as topics
from channel c join stream s on s.channel_id = c.id left join account a on a.id::text = c.scope
order by c.key, a.name

-- name: open_letters
select id from dead_letter where state = 'open' order by id

-- name: sets
select item_id from item_set order by item_id

-- name: given_up
select id from miss where state = 'abandoned' order by id

-- name: unfetched
select distinct s.item_id from item_file f join sighting s on s.id = f.sighting_id
where s.item_id is not null and (f.state = 'failed' or (f.state = 'wanted' and f.attempts > 0)) order by 1

-- name: hasten
with rechecks as (update recheck set due_at = least(due_at, %(now)s)), misses as (
    update miss set due_at = least(due_at, %(now)s) where state = 'open'
)
update hole set next_try_at = least(next_try_at, %(now)s)
""",
)

LAYERS: tuple[dict[str, Any], ...] = (
    {"fetch": "none"},
    {"fetch": "pictures", "fetch_max_bytes": 100_000},
    {},
    {"max_size_bytes": 60_000},
    {"min_size_bytes": 30_000},
    {"mime_types": ["image/*", "application/zip"]},
    {"mime_types": ["application/*"]},
    {"extensions": ["zip", "cbz", "mp4", "part1.rar"]},
    {"excluded_extensions": ["jpg", "pdf"]},
    {"link_patterns": ["*example.org*"]},
    {"link_patterns": ["*example.org/1*"], "bots": False},
    {"bots": False, "excluded_authors": ["someone"]},
)
FREQUENCIES: tuple[FrequencyChoice, ...] = ("often", "normal", "rarely", "automatic")
DIRECTIONS: tuple[Direction, ...] = ("both", "forward", "backward")


@dataclass(frozen=True)
class StreamRow:
    """A followed stream, as the person sees it."""

    id: UUID
    key: str
    owner: str
    """The account whose channel it is, where each account has its own."""
    enabled: bool
    sampled: bool
    """Only a part of it is kept up: its first scan was asked for as a sample."""
    topics: list[str]


@dataclass
class Off:
    """A channel was switched off: from the commit on until shortly before it was switched on again."""

    key: str
    owner: str
    since_s: float
    until_s: float = float("inf")


@dataclass
class Person:
    """Meddles while things go wrong, and mends afterwards."""

    stage: Stage
    world: World
    database: StagedDatabase
    product: Product
    choices: Randomness
    ids: Ids
    offs: list[Off] = field(default_factory=list[Off])
    signed_in_s: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    pins: dict[UUID, Tier] = field(default_factory=dict[UUID, Tier])
    """How often each stream is to be checked, where the person has said so."""
    grouper: Grouper = field(init=False)
    rules: RuleKeeper = field(init=False)

    def __post_init__(self) -> None:
        self.grouper = Grouper(self.stage, self.database, self.choices.fork("groups"), self.ids)
        self.rules = RuleKeeper(self.stage, self.database, self.choices.fork("group rules"), self.ids)

    async def meddle(self) -> None:
        """Follow what there is, then do something every now and then, for ever."""
        for account in self.world.accounts:
            await self.follow(account)
        deeds = [deed for deed, weight in self._deeds() for _ in range(weight)]
        while True:
            await self.stage.sleep(self.choices.uniform(1, 12))
            with suppress(DatabaseAway, UserError, WorkError):
                await self.choices.choice(deeds)()

    async def arrange_library(self) -> None:
        """Group things and switch rules that do so every few seconds, for ever."""
        choices = self.choices.fork("library")
        while True:
            await self.stage.sleep(choices.uniform(0.3, 3))
            with suppress(DatabaseAway, UserError, WorkError):
                await choices.choice([self.grouper.act, self.rules.act])()

    def _deeds(self) -> Sequence[tuple[Callable[[], Awaitable[None]], int]]:
        return (
            (self._set_layer, 5),
            (self._set_topic, 2),
            (self._switch, 4),
            (self._ask_scan, 4),
            (self._reset_one, 2),
            (self._retry_set, 2),
            (self._discover, 2),
            (self._sign_in, 2),
            (self._retry_misses, 1),
            (self._set_frequency, 2),
        )

    async def follow(self, account: str) -> None:
        """Follow what an account sees, trying until it works."""
        while True:
            try:
                await self.product.follow(account)
            except (AuthFailed, Restricted):
                self.world.restore(account)
                self.signed_in_s.setdefault(account, []).append(self.stage.elapsed_s)
            except (WorkError, DatabaseAway):
                await self.stage.sleep(5)
            else:
                return

    async def mend(self, *, impatient: bool) -> None:
        """Sign accounts in, replay what gave up, follow what is new; nothing else is helped along.

        A stream of which only a sample was asked for is wanted whole in the end, and a person has to say so.

        An impatient person also asks for a scan of everything, which saves the play the schedule's wait.
        """
        async with self.database.transaction() as tx:
            for account in await list_accounts(tx):
                if account.state != "active":
                    await self._sign_in_one(tx, account.id, account.name)
        for account in self.world.accounts:
            await self.follow(account)
        for stream in await self._streams():
            if not stream.enabled:
                await self._enable(stream)
        await self._ask([stream for stream in await self._streams() if stream.sampled])
        async with self.database.transaction() as tx:
            for letter_id in await tx.column(Q["open_letters"]):
                await replay(tx, self.product.kinds, letter_id, now=self._now())
            await retry_misses(tx, await tx.column(Q["given_up"]), now=self._now())
            await fetch_items(tx, await tx.column(Q["unfetched"]), now=self._now())
        # As the next start does: what was left of downloads that nobody wants any more goes.
        await self.product.open_files()
        if impatient:
            await self._hurry()

    async def try_to_mend(self, *, impatient: bool) -> None:
        """The same while connections are lost; what is left of it is done later."""
        with suppress(DatabaseAway, UserError, WorkError):
            await self.mend(impatient=impatient)

    async def retry_all(self, *, impatient: bool = False) -> None:
        """Try all misses at once; the impatient do not wait for rechecks either, which nobody can retry."""
        async with self.database.transaction() as tx:
            await retry_misses(tx, now=self._now())
            if impatient:
                await tx.execute(Q["hasten"], now=self._now())

    async def reset_all(self) -> None:
        for stream in await self._streams():
            async with self.database.transaction() as tx:
                await requests.reset_scan(tx, stream.id, ScanWish(), ids=self.ids, now=self._now())

    async def ask_all(self) -> None:
        """Ask for a scan of everything."""
        await self._ask(await self._streams())

    async def _ask(self, streams: Sequence[StreamRow]) -> None:
        for stream in streams:
            async with self.database.transaction() as tx:
                await requests.ask_scan(tx, stream.id, ScanWish(), ids=self.ids, now=self._now())

    async def _hurry(self) -> None:
        await self.ask_all()
        async with self.database.transaction() as tx:
            await tx.execute(Q["hasten"], now=self._now())

    async def _set_layer(self) -> None:
        layer = self.choices.choice(LAYERS)
        stream = await self._any_stream()
        async with self.database.transaction() as tx:
            if stream is None or self.choices.chance(0.3):
                await intake_settings.set_everything(tx, layer, now=self._now())
            else:
                await intake_settings.set_channel(tx, stream.id, layer, now=self._now())

    async def _set_topic(self) -> None:
        stream = await self._any_stream()
        if stream is None or not stream.topics:
            return
        topic = self.choices.choice(stream.topics)
        layer, enabled = self.choices.choice(LAYERS), self.choices.chance(0.5)
        async with self.database.transaction() as tx:
            if self.choices.chance(0.5):
                await intake_settings.set_topic(tx, stream.id, topic, layer, now=self._now())
            else:
                await intake_settings.switch_topic(tx, stream.id, topic, enabled=enabled, now=self._now())

    async def _switch(self) -> None:
        stream = await self._any_stream()
        if stream is not None and stream.enabled:
            await self._disable(stream)
        elif stream is not None:
            await self._enable(stream)

    async def _disable(self, stream: StreamRow) -> None:
        async with self.database.transaction() as tx:
            await requests.disable(tx, stream.id, now=self._now())
        self.offs.append(Off(stream.key, stream.owner, self.stage.elapsed_s))

    async def _enable(self, stream: StreamRow) -> None:
        for off in self.offs:
            if (off.key, off.owner) == (stream.key, stream.owner):
                off.until_s = min(off.until_s, self.stage.elapsed_s)
        async with self.database.transaction() as tx:
            await requests.enable(tx, stream.id, now=self._now())

    async def _ask_scan(self) -> None:
        stream = await self._any_stream()
        wish = ScanWish(
            self.choices.choice(DIRECTIONS), 1 + self.choices.below(120), self.choices.chance(0.5)
        )
        if stream is not None:
            async with self.database.transaction() as tx:
                await requests.ask_scan(tx, stream.id, wish, ids=self.ids, now=self._now())

    async def _reset_one(self) -> None:
        stream = await self._any_stream()
        if stream is not None:
            async with self.database.transaction() as tx:
                await requests.reset_scan(tx, stream.id, ScanWish(), ids=self.ids, now=self._now())

    async def _retry_set(self) -> None:
        """Look for the missing volumes of a set again."""
        async with self.database.transaction() as tx:
            found = await tx.column(Q["sets"])
        if found:
            item_id = self.choices.choice(found)
            async with self.database.transaction() as tx:
                await requests.retry_set(tx, item_id, ids=self.ids, now=self._now())

    async def _set_frequency(self) -> None:
        """Choose how often a stream is checked, or leave it to the schedule again."""
        stream = await self._any_stream()
        if stream is None:
            return
        choice = self.choices.choice(FREQUENCIES)
        self.pins.pop(stream.id, None)
        async with self.database.transaction() as tx:
            await requests.set_frequency(tx, stream.id, choice, now=self._now())
        if (tier := chosen_tier(choice)) is not None:
            self.pins[stream.id] = tier

    async def _discover(self) -> None:
        account = self.choices.choice(sorted(self.world.accounts))
        async with self.database.transaction() as tx:
            usable = {known.name for known in await list_accounts(tx) if known.state == "active"}
        if account in usable:
            await self.product.follow(account)

    async def _sign_in(self) -> None:
        """Have a ban lifted, and sign in again."""
        async with self.database.transaction() as tx:
            for account in await list_accounts(tx):
                if account.state != "active":
                    self.world.restore(account.name)
                    await self._sign_in_one(tx, account.id, account.name)

    async def _sign_in_one(self, tx: Tx, account_id: UUID, name: str) -> None:
        self.signed_in_s.setdefault(name, []).append(self.stage.elapsed_s)
        await accounts.reactivate(tx, account_id, now=self._now())

    async def _retry_misses(self) -> None:
        await self.retry_all()

    async def _streams(self) -> list[StreamRow]:
        async with self.database.transaction() as tx:
            return await tx.all(StreamRow, Q["list_streams"])

    async def _any_stream(self) -> StreamRow | None:
        streams = await self._streams()
        return self.choices.choice(streams) if streams else None

    def _now(self) -> datetime:
        return self.stage.now()
