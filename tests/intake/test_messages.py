"""What was said with a file is kept with it, in the form that the message has now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from missing import STREAM, Missing

from headgate.domain.text import MAX_KEY_BYTES
from headgate.testing import file_of

PACK = [file_of("pack.zip", b"pack")]


async def messages(missing: Missing) -> list[tuple[Any, ...]]:
    async with missing.database.transaction() as tx:
        rows = await tx.raw("select key, text, author, album, reply_to, topic from message order by position")
    return [tuple(row.values()) for row in rows]


async def texts(missing: Missing) -> list[str]:
    return [row[1] for row in await messages(missing)]


async def test_the_text_the_album_and_the_answered_message_are_kept(missing: Missing) -> None:
    photo = missing.world.post(STREAM, text="the otter", files=[file_of("otter.jpg", b"o")])
    pack = missing.world.post(
        STREAM, text="all #otters", files=PACK, album="a1", reply_to=photo.key, topic="New"
    )
    await missing.accept(photo, pack)
    assert await messages(missing) == [
        (photo.key, "the otter", "someone", "", "", ""),
        (pack.key, "all #otters", "someone", "a1", photo.key, "New"),
    ]


async def test_a_message_that_holds_nothing_is_only_counted(missing: Missing) -> None:
    await missing.accept(missing.world.post(STREAM, text="good morning"))
    assert await messages(missing) == []


async def test_an_edit_changes_what_was_said_and_an_older_page_does_not_undo_it(missing: Missing) -> None:
    first = missing.world.post(STREAM, text="part one", files=PACK)
    await missing.accept(first)
    missing.clock.advance(1)
    missing.world.edit(STREAM, first.key, text="part one of two", files=PACK)
    edited = missing.world.tell(missing.world.row(STREAM, first.key))
    await missing.accept(edited)
    assert await texts(missing) == ["part one of two"]
    await missing.accept(first)
    assert await texts(missing) == ["part one of two"]


@pytest.mark.parametrize("field", ["album", "reply_to", "author_key"])
async def test_a_name_that_no_index_can_hold_does_not_cost_the_file(missing: Missing, field: str) -> None:
    message = missing.world.post(STREAM, files=PACK)
    await missing.accept(replace(message, **{field: "x" * 5 * MAX_KEY_BYTES}))
    async with missing.database.transaction() as tx:
        stored = await tx.raw(f"select octet_length({field}) as length from message")
    assert stored[0]["length"] <= MAX_KEY_BYTES
    assert await missing.column("titles") == ["pack"]


async def test_what_cannot_be_stored_in_a_text_is_left_out(missing: Missing) -> None:
    await missing.accept(missing.world.post(STREAM, text="a\x00b \ud800 c", files=PACK))
    assert [text.replace("\ufffd", "") for text in await texts(missing)] == ["ab  c"]
