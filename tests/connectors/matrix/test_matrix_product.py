"""The whole product on a real Synapse: rooms are read, heard and fetched, whatever happens to the server."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
from matrix_product import Product, open_product
from matrix_stage import Stage

from headgate.connectors.matrix.filters import TIMELINE_EVENTS

pytestmark = [pytest.mark.once, pytest.mark.long, pytest.mark.xdist_group("synapse")]

MESSAGES = (
    "select c.title || ' ' || s.total_messages_scanned from stream s join channel c on c.id = s.channel_id"
    " order by 1"
)
HASHES = (
    "select encode(b.sha256, 'hex') from item_file f join blob b on b.id = f.blob_id"
    " where f.state = 'stored' order by 1"
)
SIGHTED = "select file_name from sighting where deleted_at is null order by 1"
LONG_AGO_MS = 1_600_000_000_000
"""In September 2020."""
MISSES = "select count(*) from miss"


@pytest.fixture
async def product(stage: Stage, database_url: str, tmp_path: Path) -> AsyncIterator[Product]:
    async with open_product(stage, database_url, tmp_path) as product:
        yield product


def content_of(name: str) -> bytes:
    return name.encode() * 500


def hashes_of(*names: str) -> list[str]:
    return sorted(hashlib.sha256(content_of(name)).hexdigest() for name in names)


async def post_files(stage: Stage, room: str, *names: str) -> None:
    for name in names:
        await stage.other.post_file(room, name, content_of(name), mime_type="application/zip")


async def test_what_was_posted_while_headgate_was_down_is_found(stage: Stage, product: Product) -> None:
    room = await stage.make_room("ducks")
    await product.follow_rooms()
    async with product.running():
        await post_files(stage, room, "heard.zip")
        await product.eventually(SIGHTED, ["heard.zip"])
        await product.eventually("select count(*) from account_memory where name = 'sync'", [1])
    missed = [f"missed-{number:02}.zip" for number in range(TIMELINE_EVENTS + 10)]
    await post_files(stage, room, *missed)
    async with product.running():
        await product.eventually(SIGHTED, ["heard.zip", *missed])
        await product.eventually(MESSAGES, [f"ducks {len(missed) + 1}"])
    assert await product.column(MISSES) == [0]


async def test_a_backdated_message_is_taken_in_where_it_arrives(stage: Stage, product: Product) -> None:
    room = await stage.make_room("ducks")
    await post_files(stage, room, "first.zip")
    await product.follow_rooms()
    async with product.running():
        await product.eventually(SIGHTED, ["first.zip"])
        bridge = stage.bridge()
        await stage.other.ask("POST", f"rooms/{quote(room)}/invite", {"user_id": bridge.user_id})
        await bridge.ask("POST", f"join/{quote(room)}", {})
        address = await stage.other.upload("late.zip", content_of("late.zip"), mime_type="application/zip")
        await bridge.send(room, {"msgtype": "m.file", "body": "late.zip", "url": address}, at_ms=LONG_AGO_MS)
        await post_files(stage, room, "last.zip")
        await product.eventually(SIGHTED, ["first.zip", "last.zip", "late.zip"])
        await product.eventually(HASHES, hashes_of("first.zip", "last.zip", "late.zip"))
    order = "select file_name from sighting order by position"
    assert await product.column(order) == ["first.zip", "late.zip", "last.zip"]
    sent_at = "select extract(year from sent_at)::int from sighting where file_name = 'late.zip'"
    assert await product.column(sent_at) == [2020]
    await bridge.client.aclose()


async def test_an_encrypted_room_is_shown_and_makes_no_failed_items(stage: Stage, product: Product) -> None:
    secret, plain = await stage.make_room("secret"), await stage.make_room("plain")
    await stage.other.encrypt(secret)
    for number in range(5):
        cipher = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": f"{number}", "session_id": "x"}
        await stage.other.send(secret, cipher, kind="m.room.encrypted")
    await product.follow_rooms()
    async with product.running():
        await post_files(stage, plain, "plain.zip")
        await product.eventually(HASHES, hashes_of("plain.zip"))
    assert await product.column(MESSAGES) == ["plain 1", "secret (encrypted) 0"]
    assert await product.column(MISSES) == [0]
    await product.find_targets()
    assert await product.column("select title from target") == ["plain"]


async def test_edits_redactions_and_threads_are_taken_in(stage: Stage, product: Product) -> None:
    room = await stage.make_room("ducks")
    await post_files(stage, room, "kept.zip")
    await product.follow_rooms()
    async with product.running():
        await product.eventually(SIGHTED, ["kept.zip"])
        root = await stage.other.post(room, "a thread begins")
        thread = {"m.relates_to": {"rel_type": "m.thread", "event_id": root}}
        key = await stage.other.post_file(
            room, "threaded.zip", content_of("threaded.zip"), mime_type="application/zip", **thread
        )
        await product.eventually(SIGHTED, ["kept.zip", "threaded.zip"])
        assert await product.column("select topic from sighting where file_name = 'threaded.zip'") == [root]
        await stage.other.redact(room, key)
        await product.eventually(SIGHTED, ["kept.zip"])
        key = await stage.other.post_file(
            room, "before.zip", content_of("before.zip"), mime_type="application/zip"
        )
        await product.eventually(SIGHTED, ["before.zip", "kept.zip"])
        address = await stage.other.upload("after.zip", b"after", mime_type="application/zip")
        await stage.other.edit(room, key, "after.zip", msgtype="m.file", filename="after.zip", url=address)
        await product.eventually(SIGHTED, ["after.zip", "before.zip", "kept.zip"])
    assert await product.column(MISSES) == [0]
