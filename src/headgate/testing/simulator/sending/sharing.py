"""The person who sends things of the library on, and the judgement: nothing twice, and every request ends.

The first account reads the channel of the things and sends them by reference; the others must upload them,
which needs their files to be fetched first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow.library_sends import actions
from headgate.outflow.library_sends.actions import SendWish
from headgate.storage.database import Connection, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.shelf.touched import touch_new
from headgate.testing.content.content import file_of
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.sending.send_rules import Place, SendRuleKeeper, check_send_rules

STREAM = "packs"
EVERY_S = (0.5, 6.0)
_CHANNEL = """
insert into channel (id, platform, key, kind, title, created_at)
values ($1, 'simulated', $2, 'stream', 'Packs', $3) returning id
"""
_WATCH = "insert into watch (channel_id, account_id, created_at) values ($1, $2, $3) returning account_id"
_STREAM_ROW = "insert into stream (channel_id, reader_id) values ($1, $2) returning channel_id"
_MESSAGES = """
insert into message (channel_id, key, position, sent_at, version_at, seen_at)
select $1, t.key, t.key::bigint, $2, $2, $2
from jsonb_to_recordset($3::text::jsonb) as t (key text)
returning key
"""
_ITEMS = """
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
select t.id, $1, 'place:' || t.key, 'package', t.name, t.size, $2, $2
from jsonb_to_recordset($3::text::jsonb) as t (id uuid, key text, name text, size bigint)
returning id
"""
_SIGHTINGS = """
insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes, mime_type,
    sent_at, version_at, seen_at, verdict, item_id)
select t.id, $1, t.key, t.attachment, t.key::bigint, t.name, t.size, 'application/zip', $2, $2, $2,
    'kept', t.id
from jsonb_to_recordset($3::text::jsonb) as t (id uuid, key text, attachment text, name text, size bigint)
returning id
"""
REQUESTS = """
select q.state, q.account_name, t.key, s.message_key, s.file_name, coalesce(d.state, ''), t.id, s.item_id
from send_request q join target t on t.id = q.target_id join sighting s on s.item_id = q.item_id
left join delivery d on d.run_id = q.run_id and d.number = 1
"""


class JudgedRequest(NamedTuple):
    """A request, as we believe it to be, and how to tell its thing at the target."""

    state: str
    account: str
    target: str
    message_key: str
    file_name: str
    delivery: str
    target_id: UUID
    item_id: UUID


async def stock_library(
    tx: Tx, world: World, things: int, *, reader: str, reader_id: UUID, ids: Ids, now: datetime
) -> None:
    """Post things to a channel, and write them down as if they had been read there."""
    world.add_stream(STREAM, title="Packs")
    channel_id = ids.new()
    await tx.raw(_CHANNEL, [channel_id, STREAM, now])
    await tx.raw(_STREAM_ROW, [channel_id, reader_id])
    await tx.raw(_WATCH, [channel_id, reader_id, now])
    rows = [_post(world, number, reader=reader, ids=ids) for number in range(things)]
    await _write_down(tx, channel_id, rows, now=now)


def _post(world: World, number: int, *, reader: str, ids: Ids) -> dict[str, Any]:
    """Post a thing, and return what there is to write down of it."""
    name = f"thing-{number}.zip"
    content = f"thing {number} ".encode() * 50
    posted = world.post(STREAM, files=[file_of(name, content)], heard=False)
    message = world.seen_by(reader, posted)
    (attachment,) = message.attachments
    row = {"id": str(ids.new()), "key": message.key, "attachment": attachment.key}
    return {**row, "name": name, "size": len(content)}


async def _write_down(tx: Tx, channel_id: UUID, rows: Sequence[dict[str, Any]], *, now: datetime) -> None:
    for statement in (_MESSAGES, _ITEMS, _SIGHTINGS):
        await tx.raw(statement, [channel_id, now, json.dumps(rows)])
    touch_new(tx, [UUID(row["id"]) for row in rows])


@dataclass
class Sharing:
    """Sends things on at random, changes its mind, and tells of uncertain ones what the group shows."""

    stage: Stage
    world: World
    database: StagedDatabase
    choices: Randomness
    ids: Ids
    reader: str
    helped: Counter[Place] = field(default_factory=Counter[Place])
    """How often the person had a thing sent to a target once more, or said that it did not arrive."""
    rules: SendRuleKeeper = field(init=False)

    def __post_init__(self) -> None:
        self.rules = SendRuleKeeper(self.stage, self.database, self.choices.fork("rules"), self.ids)

    async def meddle(self) -> None:
        """Do something every few seconds, for ever."""
        deeds = [deed for deed, weight in self._deeds() for _ in range(weight)]
        while True:
            await self.stage.sleep(self.choices.uniform(*EVERY_S))
            with suppress(DatabaseAway, UserError):
                await self.choices.choice(deeds)()

    def _deeds(self) -> Sequence[tuple[Callable[[], Awaitable[None]], int]]:
        return (
            (self._send, 4),
            (self._arrive, 4),
            (self._cancel, 1),
            (self._retry, 2),
            (self._resolve, 2),
        )

    async def _arrive(self) -> None:
        """Let something new be posted."""
        async with self.database.transaction() as tx:
            (row,) = await tx.raw("select channel_id, count(*) as many from item group by channel_id")
            posted = _post(self.world, row["many"], reader=self.reader, ids=self.ids)
            await _write_down(tx, row["channel_id"], [posted], now=self.stage.now())

    async def _send(self) -> None:
        items = await self._ids("select id from item order by id")
        targets = await self._ids("select id from target order by id")
        accounts = await self._ids("select id from account order by name")
        chosen = [self.choices.choice(items) for _ in range(1 + self.choices.below(3))]
        wish = SendWish(
            self.choices.choice(targets), chosen, account_id=self.choices.choice([None, *accounts])
        )
        async with self.database.transaction() as tx:
            await actions.send_things(tx, wish, ids=self.ids, now=self.stage.now())

    async def _cancel(self) -> None:
        for request_id in await self._any("state in ('waiting', 'queued')"):
            async with self.database.transaction() as tx:
                await actions.cancel_request(tx, request_id, now=self.stage.now())

    async def _retry(self) -> None:
        for request_id in await self._any("state in ('failed', 'cancelled')"):
            await self._note_help(request_id)
            async with self.database.transaction() as tx:
                await actions.retry_request(tx, request_id, now=self.stage.now())

    async def _resolve(self) -> None:
        for request_id in await self._any("state = 'uncertain'"):
            await self._note_help(request_id)
            async with self.database.transaction() as tx:
                (row,) = await tx.raw(
                    "select q.account_name, t.key as target, p.key from send_request q"
                    " join target t on t.id = q.target_id"
                    " join part p on p.run_id = q.run_id and p.state = 'uncertain' where q.id = $1",
                    [request_id],
                )
                group = self.world.groups[row["target"]]
                there = group.find(account=row["account_name"], send_key=row["key"])
                await actions.resolve_request(tx, request_id, arrived=there is not None, now=self.stage.now())

    async def _note_help(self, request_id: UUID) -> None:
        async with self.database.transaction() as tx:
            sql = "select target_id, item_id from send_request where id = $1"
            (row,) = await tx.raw(sql, [request_id])
        self.helped[row["target_id"], row["item_id"]] += 1

    async def _any(self, where: str) -> list[UUID]:
        found = await self._ids(f"select id from send_request where {where} order by id")  # noqa: S608 - our own words
        return [self.choices.choice(found)] if found else []

    async def _ids(self, sql: str) -> list[UUID]:
        async with self.database.transaction() as tx:
            return [row["id"] for row in await tx.raw(sql)]


async def check_sharing(world: World, director: Connection, sharing: Sharing) -> list[str]:
    """Return which things arrived more or less often than their requests say, and which never ended."""
    rows = [JudgedRequest(*row) for row in await (await director.execute(REQUESTS.encode())).fetchall()]
    arrived = _count_arrivals(world, rows)
    places = {(row.target, row.file_name): (row.target_id, row.item_id) for row in rows}
    by_id = Counter({places[place]: times for place, times in arrived.items() if place in places})
    return [
        *_check_ends(rows),
        *_check_arrivals(arrived, rows),
        *await check_send_rules(director, sharing.rules, by_id, sharing.helped),
    ]


def _check_ends(rows: Sequence[JudgedRequest]) -> Iterator[str]:
    for row in rows:
        if row.state in {"waiting", "queued"}:
            yield f"the request for {row.file_name} to {row.target} is still {row.state}"


def _count_arrivals(world: World, rows: Sequence[JudgedRequest]) -> Counter[tuple[str, str]]:
    """Return how often each group got each thing, by the platform's own log."""
    names = {f"forwarded {STREAM}/{row.message_key}": row.file_name for row in rows}
    arrived: Counter[tuple[str, str]] = Counter()
    for effect in world.log.sends():
        name = names.get(effect.text, "")
        if effect.media:
            name = world.uploads[effect.media].name
        if name:
            arrived[effect.place, name] += 1
    return arrived


def _check_arrivals(arrived: Counter[tuple[str, str]], rows: Sequence[JudgedRequest]) -> Iterator[str]:
    """Compare what groups hold with the requests, thing by thing; each request is one message."""
    sent = Counter((row.target, row.file_name) for row in rows if row.state == "sent")
    doubtful = Counter((row.target, row.file_name) for row in rows if row.delivery == "uncertain")
    for place in {(row.target, row.file_name) for row in rows}:
        if not sent[place] <= arrived[place] <= sent[place] + doubtful[place]:
            target, name = place
            yield f"{target} got {name} {arrived[place]} times, and {sent[place]} requests say so"
