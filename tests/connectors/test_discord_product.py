"""The whole product on a real Discord-compatible server: history, live, gaps, files and sends."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from discord_bench import DiscordBench, open_discord_bench
from discord_edge import Fault
from discord_stage import Stage

from headgate.storage.database import Database

pytestmark = [pytest.mark.once, pytest.mark.long]

BINARY = "application/octet-stream"
POSTS = r"/messages$"


@pytest.fixture
async def bench(
    discord_stage: Stage, database: Database, database_url: str, tmp_path: Path
) -> AsyncIterator[DiscordBench]:
    async with open_discord_bench(discord_stage, database, database_url, tmp_path) as bench:
        yield bench


def content_of(name: str) -> bytes:
    """Return bytes that only the name decides."""
    return hashlib.sha256(name.encode()).digest() * 400


async def post_file(stage: Stage, channel: str, name: str, *, token: str | None = None) -> str:
    return await stage.post_files(channel, [(name, BINARY, content_of(name))], token=token)


async def stored(bench: DiscordBench) -> dict[str, str]:
    """Return the hash of each stored file by its name."""
    lines: list[str] = await bench.ask_column("hashes")
    return dict(line.rsplit(" ", 1) for line in lines)


def hashes(*names: str) -> dict[str, str]:
    return {name: hashlib.sha256(content_of(name)).hexdigest() for name in names}


async def test_the_history_of_channels_and_threads_is_read_with_every_file_once(bench: DiscordBench) -> None:
    stage = bench.stage
    busy, quiet = await stage.make_channel("busy"), await stage.make_channel("quiet")
    thread = await stage.make_thread(busy, "details")
    names: list[str] = []
    for n in range(120):
        if n % 15 == 0:
            names.append(f"busy-{n}.zip")
            await post_file(stage, busy, names[-1])
        else:
            await stage.post(busy, f"message {n}")
    names += ["album-1.zip", "album-2.zip", "thread.zip"]
    pair = [(name, BINARY, content_of(name)) for name in names[-3:-1]]
    await stage.post_files(quiet, pair, "two at once")
    await post_file(stage, thread, names[-1], token=stage.bot_token)
    await bench.follow()
    await bench.catch_up()
    assert await stored(bench) == hashes(*names)
    # The message that the thread hangs on, and the server's own notice of it, are messages too.
    assert (await bench.stream(busy)).total_messages_scanned == len(await all_of(stage, busy)) == 122
    (row,) = await bench.rows("select count(distinct album) as albums from message where album <> ''")
    assert row["albums"] == 1
    reads = stage.edge.count("GET", POSTS)
    await bench.catch_up()
    assert stage.edge.count("GET", POSTS) == reads


async def all_of(stage: Stage, channel: str) -> list[str]:
    newest = await stage.call("GET", f"/channels/{channel}/messages?limit=100")
    last = newest[-1]["id"]
    older = await stage.call("GET", f"/channels/{channel}/messages?limit=100&before={last}")
    return [message["id"] for message in [*newest, *older]]


async def test_what_is_heard_is_stored_and_what_was_missed_is_read_afterwards(bench: DiscordBench) -> None:
    stage = bench.stage
    channel = await stage.make_channel("packs")
    await post_file(stage, channel, "old.zip")
    await bench.follow()
    await bench.catch_up()
    async with bench.hearing():
        await heard(bench, channel, "heard-1.zip")
        stage.edge.sessions.drop()
        await post_file(stage, channel, "resumed.zip")
        await sighted(bench, "resumed.zip")
        reads = stage.edge.count("GET", POSTS)
        await heard(bench, channel, "heard-2.zip")
        assert stage.edge.count("GET", POSTS) == reads
    await post_file(stage, channel, "missed.zip")
    async with bench.hearing():
        await heard(bench, channel, "heard-3.zip")
    await bench.catch_up()
    expected = ["old.zip", "heard-1.zip", "resumed.zip", "heard-2.zip", "missed.zip", "heard-3.zip"]
    assert await stored(bench) == hashes(*expected)


async def heard(bench: DiscordBench, channel: str, name: str) -> None:
    await post_file(bench.stage, channel, name)
    await sighted(bench, name)


async def sighted(bench: DiscordBench, name: str) -> None:
    """Wait until a file that was posted has been taken in."""
    await bench.until(lambda: bench.rows("select 1 from sighting where file_name = $1", name))


async def test_a_new_thread_of_a_followed_channel_is_followed(bench: DiscordBench) -> None:
    stage = bench.stage
    channel = await stage.make_channel("packs")
    await stage.post(channel, "hello")
    await bench.follow()
    await bench.catch_up()
    await bench.pass_time(700)
    async with bench.hearing():
        thread = await stage.make_thread(channel, "more of it")
        due = "select 1 from account where discover_at <= $1"
        await bench.until(lambda: bench.rows(due, bench.clock.now()))
    await post_file(stage, thread, "in-the-thread.zip", token=stage.bot_token)
    await bench.catch_up()
    assert "in-the-thread.zip" in await stored(bench)
    (row,) = await bench.rows("select title, parent_id from channel where key = $1", thread)
    assert row["title"] == "Test guild #packs › more of it"


async def test_edits_and_deletions_that_are_heard_change_what_is_known(bench: DiscordBench) -> None:
    stage = bench.stage
    channel = await stage.make_channel("packs")
    await bench.follow()
    async with bench.hearing():
        key = await post_file(stage, channel, "soon-gone.zip")
        await sighted(bench, "soon-gone.zip")
        await stage.delete(channel, key)
        await bench.until(lambda: bench.column("deleted"))
    assert await bench.column("deleted") == [key]


async def test_sends_are_neither_lost_nor_doubled_under_faults(bench: DiscordBench) -> None:
    stage = bench.stage
    channels = [await stage.make_channel(f"target-{n}") for n in range(8)]
    kinds = ["429", "lost", "429-global", "500", "reset", "lost"]
    stage.edge.faults += [Fault("POST", POSTS, kind, retry_after_s=0.3) for kind in kinds]
    await bench.begin_reminder(*channels, text="Dear all")
    for _ in range(12):
        await bench.work()
        if await bench.sends() == {"sent": len(channels)}:
            break
        await bench.let_doubts_age()
    assert await bench.sends() == {"sent": len(channels)}
    for channel in channels:
        assert [one["content"] for one in await stage.history(channel)] == ["Dear all"]
    assert all(fault.times == 0 for fault in stage.edge.faults)


async def test_downloads_and_reads_survive_limits_errors_and_resets(bench: DiscordBench) -> None:
    stage = bench.stage
    channel = await stage.make_channel("packs")
    names = [f"file-{n}.zip" for n in range(6)]
    for name in names:
        await post_file(stage, channel, name)
    await bench.follow()
    stage.edge.faults += [Fault("GET", POSTS, kind) for kind in ("500", "429", "reset", "429-global")]
    stage.edge.faults += [Fault("GET", "/media/", kind) for kind in ("reset", "500")]
    for _ in range(6):
        await bench.catch_up()
        if await stored(bench) == hashes(*names):
            break
        await bench.rest(900)
    assert await stored(bench) == hashes(*names)
    assert all(fault.times == 0 for fault in stage.edge.faults)
