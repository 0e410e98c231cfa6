"""What tests of sets do again and again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from missing import STREAM, Missing

from headgate.domain.streams.messages import Message
from headgate.intake.channels.settings import SettingsLayer, change_settings
from headgate.testing import file_of
from headgate.testing.content.content import SimFile

HOUR_S = 3600
DAY_S = 24 * HOUR_S

_LIBRARY = """
select i.id, i.title, i.kind, i.size_bytes, i.hidden, i.content_key like 'set:%' as is_set,
       coalesce(array_agg(s.file_name order by s.file_name) filter (where s.id is not null), '{}') as files,
       t.state, t.reason, t.present, t.total, t.missing, t.problem and t.dismissed_at is null as problem
from item i
left join sighting s on s.item_id = i.id
left join item_set t on t.item_id = i.id
group by i.id, t.item_id
order by i.title, files
"""


def post(missing: Missing, name: str, size: int = 100, *, seed: str = "", **more: Any) -> Message:
    file = file_of(name, f"{seed}{name}".encode().ljust(size, b"."))
    return missing.world.post(STREAM, files=[file], **more)


def edit(missing: Missing, message: Message, *files: SimFile) -> Message:
    missing.clock.advance(1)
    missing.world.edit(STREAM, message.key, files=files)
    return missing.world.tell(missing.world.row(STREAM, message.key))


async def set_min_size(missing: Missing, size_bytes: int) -> None:
    layer = SettingsLayer(channel_id=missing.channel_id)
    async with missing.database.transaction() as tx:
        await change_settings(tx, layer, {"min_size_bytes": size_bytes}, now=missing.clock.now())


async def ask(missing: Missing, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with missing.database.transaction() as tx:
        return await tx.raw(sql, arguments)


async def library(missing: Missing) -> list[dict[str, Any]]:
    return await ask(missing, _LIBRARY)


async def files_of_items(missing: Missing) -> list[list[str]]:
    return sorted(row["files"] for row in await library(missing))


async def take_in(missing: Missing, *messages: Message) -> None:
    await missing.accept(*messages)
    await missing.work()


async def read_up_to_now(missing: Missing) -> None:
    await ask(missing, "update stream set head_checked_at = $1", missing.clock.now())


async def pass_time(missing: Missing, seconds: int) -> None:
    """Let time pass in which the channel was read and nothing came."""
    missing.clock.advance(seconds)
    await read_up_to_now(missing)
    await missing.work()


async def get_item_id(missing: Missing, title: str) -> UUID:
    (row,) = [row for row in await library(missing) if row["title"] == title]
    return row["id"]
