"""Settings for downloads: a command, the page of a channel and the API change the same."""

from __future__ import annotations

import asyncio
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
import pytest
from typer.testing import CliRunner
from webworld import ORIGIN, START, WebWorld, form_token, post

from headgate.cli.main import app
from headgate.kernel.clock import VirtualClock
from headgate.storage.events import Event
from headgate.storage.library.fetch_lines import line_up
from headgate.storage.queries import QueryFile
from headgate.web.download_progress import STALE_S, DownloadProgress

pytestmark = pytest.mark.usefixtures("settings_of_commands")

Way = Literal["command", "page", "api"]
ways = pytest.mark.parametrize("way", ["command", "page", "api"])

Q = QueryFile(
    "downloads on pages",
    """
-- name: see
with said as (
    insert into message (channel_id, key, position, sent_at, version_at, seen_at)
    values (%(channel_id)s, '1', 1, %(now)s, %(now)s, %(now)s)
)
insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes, mime_type,
    sent_at, version_at, seen_at, verdict, item_id)
values (%(id)s, %(channel_id)s, '1', 'a0', 1, 'fleet.zip', 16000000, '', %(now)s, %(now)s, %(now)s,
    'kept', %(item_id)s)

-- name: want
insert into item_file (sighting_id, channel_id, state, size_bytes, taken_by, taken_until)
values (%(id)s, %(channel_id)s, 'wanted', 16000000, %(id)s, headgate_real_now() + interval '2 minutes')

-- name: wait_for_room
update item_file set taken_by = null, taken_until = null, wait_reason = 'room', needs_bytes = 16000000

-- name: fail
update item_file set taken_by = null, taken_until = null, state = 'failed', attempts = 5,
    error_message = '7 of 9 bytes arrived.'
""",
)


async def change(client: httpx.AsyncClient, way: Way, channel_id: UUID, **typed: str) -> str:
    """Set or, with an empty value, unset settings for downloads; returns what was refused, or nothing."""
    if way == "page":
        limit = str(int(typed["fetch_max_bytes"]) / 1_000_000) if typed.get("fetch_max_bytes") else ""
        fields = {"fetch": typed.get("fetch", ""), "on_delete": typed.get("on_delete", "")}
        answer = await post(client, f"/channels/{channel_id}/settings", fetch_max_mb=limit, **fields)
        return "" if answer.status_code < 400 else answer.text
    if way == "api":
        headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
        body = {name: value or None for name, value in typed.items()}
        answer = await client.patch(f"/api/v1/channels/{channel_id}/settings", json=body, headers=headers)
        return "" if answer.status_code < 400 else answer.text
    options = [
        part
        for name, value in typed.items()
        for part in (("--set", f"{name}={value}") if value else ("--unset", name))
    ]
    command = ["channel", "settings", str(channel_id), *options]
    done = await asyncio.to_thread(CliRunner().invoke, app, command)
    return "" if done.exit_code == 0 else done.stderr


async def settings_of(client: httpx.AsyncClient, channel_id: UUID) -> dict[str, Any]:
    answer = (await client.get(f"/api/v1/channels/{channel_id}/settings")).json()
    return {name: value for name, value in answer["own"].items() if value is not None}


@ways
async def test_a_channel_gets_settings_of_its_own_and_inherits_again(world: WebWorld, way: Way) -> None:
    channel_id = await world.add_channel("Packs")
    wanted = {"fetch": "pictures", "fetch_max_bytes": "2500000", "on_delete": "forget_text"}
    async with world.signed_in() as client:
        assert not await change(client, way, channel_id, **wanted)
        assert await settings_of(client, channel_id) == {**wanted, "fetch_max_bytes": 2_500_000}
        page = (await client.get(f"/channels/{channel_id}")).text
        assert '<option value="pictures" selected>' in page
        assert 'value="2.5"' in page
        assert not await change(client, way, channel_id, fetch="", fetch_max_bytes="", on_delete="")
        assert await settings_of(client, channel_id) == {}


@ways
async def test_a_wrong_value_is_refused_and_changes_nothing(world: WebWorld, way: Way) -> None:
    channel_id = await world.add_channel("Packs")
    async with world.signed_in() as client:
        assert "fetch" in await change(client, way, channel_id, fetch="some")
        assert await settings_of(client, channel_id) == {}


async def test_settings_of_other_kinds_outlive_the_form(world: WebWorld) -> None:
    channel_id = await world.add_channel("Packs")
    async with world.signed_in() as client:
        assert not await change(client, "command", channel_id, extensions="zip")
        assert not await change(client, "page", channel_id, fetch="none")
        assert await settings_of(client, channel_id) == {"extensions": ["zip"], "fetch": "none"}


async def test_the_page_says_what_a_channel_inherits(world: WebWorld) -> None:
    channel_id = await world.add_channel("Packs")
    async with world.signed_in() as client:
        assert "Default: everything that is kept" in (await client.get(f"/channels/{channel_id}")).text
        await post(client, "/channels/settings", fetch="pictures", fetch_max_mb="100", on_delete="")
        page = (await client.get(f"/channels/{channel_id}")).text
        effective = (await client.get(f"/api/v1/channels/{channel_id}/settings")).json()["effective"]
    assert "As for all channels: pictures; list other files" in page
    assert "As for all channels: 100\u00a0MB" in page.replace(" MB", "\u00a0MB")
    assert effective["fetch"] == {"value": "pictures", "origin": "all channels"}
    assert effective["on_delete"] == {"value": None, "origin": "default"}


async def test_only_administrators_change_them(world: WebWorld) -> None:
    channel_id = await world.add_channel("Packs")
    async with world.signed_in("eve", "member") as client:
        assert (await client.get(f"/channels/{channel_id}")).status_code == 200
        assert (await post(client, f"/channels/{channel_id}/settings", fetch="none")).status_code == 403


async def test_there_is_no_page_of_an_unknown_channel(world: WebWorld) -> None:
    async with world.signed_in() as client:
        assert (await client.get(f"/channels/{uuid4()}")).status_code == 404
        assert (await client.get(f"/api/v1/channels/{uuid4()}/settings")).status_code == 404
        assert (await post(client, f"/channels/{uuid4()}/settings", fetch="none")).status_code == 404


async def add_download(world: WebWorld) -> tuple[UUID, UUID, UUID]:
    channel_id, file_id = await world.add_channel("Packs"), uuid4()
    item_id = await world.add_item(channel_id, "fleet", kind="package")
    async with world.database.transaction() as tx:
        await tx.execute(Q["see"], id=file_id, channel_id=channel_id, item_id=item_id, now=START)
        await tx.execute(Q["want"], id=file_id, channel_id=channel_id)
        await line_up(tx, [file_id], now=START)
    return channel_id, item_id, file_id


async def test_pages_show_how_far_a_download_is(world: WebWorld) -> None:
    channel_id, item_id, file_id = await add_download(world)
    told = {"file": str(file_id), "bytes": "4000000", "size": "16000000"}
    async with world.signed_in() as client:
        assert "Downloading …" in (await client.get(f"/items/{item_id}")).text
        world.hub.hear(Event("fetch", details=told).dump())
        for path in (f"/items/{item_id}", f"/channels/{channel_id}", "/channels", "/channels/settings"):
            page = (await client.get(path)).text.replace("\u00a0", " ")
            assert "4.0 MB of 16.0 MB" in page, path
            assert "sse:fetch" in page


async def test_a_download_that_waits_or_failed_says_why(world: WebWorld) -> None:
    channel_id, item_id, _ = await add_download(world)
    async with world.signed_in() as client:
        async with world.database.transaction() as tx:
            await tx.execute(Q["wait_for_room"])
        page = (await client.get(f"/items/{item_id}")).text.replace("\u00a0", " ")
        assert "The disk has no room: it needs 16.0 MB." in page
        channel = (await client.get(f"/channels/{channel_id}")).text.replace("\u00a0", " ")
        assert "The disk has no room for 1 of them; the largest needs 16.0 MB." in channel
        async with world.database.transaction() as tx:
            await tx.execute(Q["fail"])
        page = (await client.get(f"/items/{item_id}")).text
    assert "7 of 9 bytes arrived." in page
    assert "Try again" in page


def test_the_rate_of_a_download_comes_from_its_events() -> None:
    clock, file_id = VirtualClock(START), uuid4()
    progress = DownloadProgress(clock)

    def note(received: int) -> None:
        progress.note({"file": str(file_id), "bytes": str(received), "size": "1000"})

    note(100)
    first = progress.get(file_id)
    assert first is not None
    assert first.rate is None
    clock.advance(2)
    note(300)
    second = progress.get(file_id)
    assert second is not None
    assert (second.rate, second.share) == (100, 0.3)
    note(0)
    restarted = progress.get(file_id)
    assert restarted is not None
    assert restarted.rate is None
    clock.advance(STALE_S)
    assert progress.get(file_id) is None


@pytest.mark.parametrize("details", [{}, {"file": "x"}, {"file": "x", "bytes": "many", "size": "1"}])
def test_an_event_without_sense_is_passed_over(details: dict[str, str]) -> None:
    progress = DownloadProgress()
    progress.note(details)
    assert progress.get(uuid4()) is None
