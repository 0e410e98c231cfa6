"""What people do with series is the same on the command line, on pages and in the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from figures import command, plain
from series_pages import Made, add_series, chapter_ids, raw, user_id_of
from series_stage import API, SeriesStage
from typer.testing import CliRunner, Result
from web_server import WebServer
from webworld import ORIGIN, WebWorld, form_token

from headgate.cli.main import app
from headgate.domain.text import MAX_TITLE_LENGTH
from headgate.storage.events import CHANNEL, Event

pytestmark = pytest.mark.usefixtures("settings_of_commands")

FEED = """<rss version="2.0"><channel><title>Scans</title>
<item><guid>1</guid><title>[Group] Berserk - 375</title></item></channel></rss>"""
PATTERN = "[Group] Berserk - {number}*"
PATIENCE_S = 10


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, list(arguments))


@asynccontextmanager
async def person(world: WebWorld) -> AsyncGenerator[httpx.AsyncClient, None]:
    """Open a client that can send forms and call the API."""
    async with world.signed_in() as client:
        client.headers.update({"x-csrf-token": await form_token(client), "origin": ORIGIN})
        yield client


@dataclass(frozen=True)
class Ways:
    """The three ways to a series; each returns what is said if it refuses, else nothing."""

    client: httpx.AsyncClient
    made: Made

    async def command(self, *arguments: str) -> str:
        result = await run(*arguments)
        return plain(result.stderr) if result.exit_code else ""

    async def page(self, path: str, **fields: str) -> str:
        answer = await self.client.post(f"{self.made.path}{path}", data=fields)
        return "" if answer.status_code == 303 else plain(answer.text)

    async def api(self, method: str, path: str, **body: Any) -> str:
        answer = await self.client.request(method, API + path, json=body)
        return "" if answer.is_success else answer.json()["detail"]

    async def rename(self, title: str) -> list[str]:
        """Rename it in all ways, and return what each said."""
        return [
            await self.command("series", "rename", str(self.made.series_id), title),
            await self.page("/rename", title=title),
            await self.api("PATCH", self.made.path, title=title),
        ]


async def test_a_title_has_the_same_limit_in_all_ways(world: WebWorld) -> None:
    made = await add_series(world)
    async with person(world) as client:
        ways = Ways(client, made)
        assert await ways.rename("x" * MAX_TITLE_LENGTH) == ["", "", ""]
        typed, shown, _ = await ways.rename("x" * (MAX_TITLE_LENGTH + 1))
        for said in (typed, shown):
            assert "A title has at most 500 characters." in said
        assert all("A series needs a title." in said for said in await ways.rename(" "))
        body = {"title": "y" * (MAX_TITLE_LENGTH + 1)}
        assert (await client.patch(API + made.path, json=body)).status_code == 422
    (kept,) = await raw(world, "select title from series")
    assert kept["title"] == "x" * MAX_TITLE_LENGTH


async def test_a_series_without_a_title_is_called_as_its_pattern(
    stage: SeriesStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_FEEDS_ALLOW_PRIVATE", "true")
    async with person(stage.web) as client, WebServer() as server:
        urls = [server.say(f"/{number}", FEED) for number in range(5)]
        first = await command("series", "add", urls[0], "--pattern", PATTERN)
        assert first["series_title"] == "Berserk"
        assert (await command("feed", "add", urls[1], "--pattern", PATTERN))["series_title"] == "Berserk"
        form = {"platform": "feeds", "q": urls[2], "pick": urls[2], "title": "Scans", "key": urls[2]}
        shown = await client.post(
            "/series/add", data=form | {"kind": "feed", "brings": "chapters", "pattern": PATTERN}
        )
        assert shown.headers["location"] == f"/series/{first['series_id']}"
        for path, wish in (
            ("/series", {"platform": "feeds", "key": urls[3]}),
            ("/feeds", {"address": urls[4]}),
        ):
            answer = await client.post(API + path, json=wish | {"pattern": PATTERN})
            assert answer.status_code == 201, answer.text
        (series,) = (await client.get(f"{API}/series")).json()["series"]
    assert (series["title"], series["sources"]) == ("Berserk", 5)


async def test_a_feed_becomes_a_series_only_with_a_title_or_a_pattern(
    stage: SeriesStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_FEEDS_ALLOW_PRIVATE", "true")
    async with person(stage.web) as client, WebServer() as server:
        url = server.say("/feed", FEED)
        typed = await run("series", "add", url)
        form = {"platform": "feeds", "q": url, "pick": url, "title": "Scans", "key": url, "kind": "feed"}
        shown = await client.post("/series/add", data=form | {"brings": "chapters"})
        asked = await client.post(f"{API}/series", json={"platform": "feeds", "key": url})
    for said in (" ".join(typed.stderr.split()), plain(shown.text), asked.json()["detail"]):
        assert "Scans is a feed and does not name a series." in said
        assert "Give the series a title, or a pattern" in said


@asynccontextmanager
async def hearing(world: WebWorld) -> AsyncGenerator[Callable[[], Awaitable[Event | None]], None]:
    """Listen to what pages are told; what is yielded waits for the next event."""
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    world.listener.subscribe(CHANNEL, heard.put_nowait)
    world.listener.start()
    await world.listener.wait_until_listening()
    while not heard.empty():
        heard.get_nowait()

    async def next_event() -> Event | None:
        async with asyncio.timeout(PATIENCE_S):
            return Event.parse(await heard.get() or "")

    try:
        yield next_event
    finally:
        await world.listener.stop()


async def test_every_way_in_sets_the_frequency_in_the_same_words_and_tells_the_pages(world: WebWorld) -> None:
    made = await add_series(world)
    async with person(world) as client, hearing(world) as next_event:
        ways = Ways(client, made)
        source = str(made.channel_id)
        api = f"/listings/{source}/frequency"
        for tier, choose in (
            ("HOT", ways.command("series", "frequency", source, "often")),
            ("COLD", ways.page(f"/sources/{source}/frequency", frequency="rarely")),
            ("WARM", ways.api("PUT", api, frequency="normal")),
            (None, ways.command("series", "frequency", source, "automatic")),
            ("HOT", ways.api("PUT", api, frequency="often")),
            (None, ways.page(f"/sources/{source}/frequency", frequency="automatic")),
            ("COLD", ways.command("series", "frequency", source, "rarely")),
            (None, ways.api("PUT", api, frequency="automatic")),
        ):
            assert await choose == ""
            assert await next_event() == Event("series")
            (kept,) = await raw(world, "select tier, tier_pinned from listing")
            assert kept["tier_pinned"] == (tier is not None)
            assert tier in {kept["tier"], None}


async def test_pages_of_a_person_learn_what_they_follow_from_any_way(world: WebWorld) -> None:
    made = await add_series(world)
    subject = str(made.series_id)
    async with person(world) as client, hearing(world) as next_event:
        ways, expected = Ways(client, made), Event("follows", await user_id_of(world))
        for change in (
            lambda: ways.command("series", "follow", subject, "--no-push"),
            lambda: ways.page("/unfollow"),
            lambda: ways.page("/follow"),
            lambda: ways.api("POST", "/follows", series_id=subject, push=False),
            lambda: ways.command("series", "unfollow", subject),
        ):
            assert await change() == ""
            assert await next_event() == expected


async def test_pages_of_a_person_learn_of_quiet_hours_from_any_way(world: WebWorld) -> None:
    hours = {"quiet_from": "22:00", "quiet_to": "07:00"}
    async with person(world) as client, hearing(world) as next_event:
        expected = Event("notification_settings", await user_id_of(world))
        await client.post("/account/notifications/hours", data={"zone": "UTC"} | hours)
        assert await next_event() == expected
        await client.put(f"{API}/notification-settings", json=hours)
        assert await next_event() == expected
        assert (await run("notifications", "settings", "--user", "ada", "--no-quiet")).exit_code == 0
        assert await next_event() == expected


async def test_a_source_that_is_switched_off_and_on_is_shown_so_at_once(world: WebWorld) -> None:
    made = await add_series(world)
    async with hearing(world) as next_event:
        for switch in ("disable", "enable"):
            assert (await run("channel", switch, str(made.channel_id))).exit_code == 0
            assert [await next_event(), await next_event()] == [Event("channels"), Event("series")]


async def test_a_source_that_no_account_reads_says_so_everywhere(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    await raw(world, "update listing set reader_id = null, succeeded_at = checked_at")
    async with person(world) as client:
        (source,) = (await command("series", "show", "Tidewater"))["sources"]
        (explained,) = await command("explain", str(made.channel_id))
        listing = (await client.get(f"{API}/listings/{made.channel_id}")).json()
        pages = [plain((await client.get(path)).text) for path in (made.path, "/channels")]
    assert {source["state"], explained["state"], listing["state"]} == {"no account"}
    for page in pages:
        assert "no account" in page
        assert "No account can read it at the moment." in page


async def test_a_series_is_followed_on_all_pages_or_on_none(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    async with person(world) as client:

        async def states() -> set[bool]:
            """Return whether it is followed, as all places say it."""
            shelf, page, channels = [
                "Notifications on" in plain((await client.get(path)).text)
                for path in ("/series", made.path, "/channels")
            ]
            answer = (await client.get(API + made.path)).json()
            shown = await command("series", "show", "Tidewater", "--user", "ada")
            return {shelf, page, channels, answer["series"]["followed"], shown["followed"]}

        assert await states() == {False}
        assert (await run("series", "follow", "Tidewater", "--user", "ada")).exit_code == 0
        assert await states() == {True}
        channels = (await client.get("/channels")).text
        assert f'action="{made.path}/unfollow"' in channels
        await client.post(f"{made.path}/unfollow", data={"back": "/channels"})
        assert await states() == {False}
        await client.post(f"{made.path}/follow", data={"back": "/channels"})
        assert await states() == {True}
        followed = (await client.get(f"{API}/follows")).json()["follows"]
        assert (await client.delete(f"{API}/follows/{followed[0]['id']}")).status_code == 204
        assert await states() == {False}


async def test_who_follows_a_source_by_itself_is_not_told_that_nothing_comes(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    async with person(world) as client:
        await client.post(f"{API}/follows", json={"channel_id": str(made.channel_id)})
        page = plain((await client.get(made.path)).text)
        assert "On for 1 source only." in page
        assert f'action="/channels/{made.channel_id}/unfollow"' in (await client.get("/channels")).text


async def test_a_chapter_is_named_the_same_way_on_the_command_line_and_in_the_api(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1", "2", "3")
    ids = await chapter_ids(world, made)
    async with person(world) as client:
        for name, left in (("Chapter 1", 2), ("2.0", 1), (ids["2"], 1), ("latest", 0)):
            typed = await command("series", "read", "Tidewater", name, "--user", "ada")
            asked = await client.put(f"{API}{made.path}/progress", json={"chapter": name})
            assert (typed["unread"], asked.json()["unread"]) == (left, left), name
        typed = await run("series", "read", "Tidewater", "99", "--user", "ada")
        asked = await client.put(f"{API}{made.path}/progress", json={"chapter": "99"})
    assert asked.status_code == 404
    for said in (" ".join(typed.stderr.split()), asked.json()["detail"]):
        assert "Tidewater has no chapter '99'." in said
