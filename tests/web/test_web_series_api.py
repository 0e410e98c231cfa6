"""The API of series: adding, sources, chapters, and how far one has read."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest
from programs import program
from series_stage import API, SeriesStage, get_json, get_pages
from web_server import WebServer

FEED = """<rss version="2.0"><channel><title>Scans</title>
<item><guid>1</guid><title>One Piece 1100 - Home</title></item>
<item><guid>2</guid><title>Berserk 375</title></item></channel></rss>"""


async def refusal(client: httpx.AsyncClient, path: str, body: dict[str, Any], method: str = "POST") -> str:
    answer = await client.request(method, API + path, json=body)
    assert answer.status_code == 422, answer.text
    return answer.json()["detail"]


async def test_a_series_is_added_by_its_key_and_shown_with_its_source(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        stage.offer("op", "One Piece", "1", "2")
        made = (await client.post(f"{API}/series", json={"platform": "simulated", "key": "op"})).json()
        assert (made["series"]["title"], made["is_new"]) == ("One Piece", True)
        source = made["sources"][0]["listing"]
        assert (source["frequency"], source["breaker"], source["host"]) == ("normal", "closed", "example.org")
        assert source["frequency_why"] == "Not enough is known yet about when it publishes."
        await stage.listed.work()
        shown = await get_json(client, f"/series/{made['series']['id']}")
        assert (shown["series"]["latest_chapter"], shown["series"]["unread"]) == ("2", 2)
        assert shown["sources"][0]["listing"]["checks"] == 1
        again = (await client.post(f"{API}/series", json={"platform": "simulated", "key": "op"})).json()
        assert (again["series"]["id"], again["is_new"]) == (made["series"]["id"], False)


async def test_a_query_that_fits_several_needs_a_pick(stage: SeriesStage) -> None:
    stage.offer("a", "Berserk")
    stage.offer("b", "Berserk")
    wish = {"platform": "simulated", "query": "berserk"}
    async with program(stage.web) as client:
        found = await get_json(client, "/series/find", platform="simulated", q="berserk")
        assert {one["key"] for one in found["found"]} == {"a", "b"}
        assert "several matches" in await refusal(client, "/series", wish)
        assert "not one of the matches" in await refusal(client, "/series", wish | {"pick": "c"})
        made = await client.post(f"{API}/series", json=wish | {"pick": "b", "title": " My  Berserk "})
        assert made.json()["series"]["title"] == "My Berserk"
        assert made.json()["sources"][0]["listing"]["key"] == "b"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"platform": "simulated"}, "either a key or a query"),
        ({"platform": "simulated", "key": "x", "query": "y"}, "either a key or a query"),
        ({"platform": "simulated", "key": "nothing"}, "Nothing was found"),
        ({"platform": "myspace", "key": "x"}, "no connector"),
        ({"platform": "simulated", "key": "x", "pattern": "{number}"}, "no fixed text"),
        ({"platform": "simulated", "key": "x", "language": "!"}, "not a language"),
        ({"platform": "feeds", "key": "ftp://example.org/"}, "http and https alone"),
    ],
)
async def test_a_wish_that_cannot_be_met_is_refused_with_a_reason(
    stage: SeriesStage, body: dict[str, Any], said: str
) -> None:
    async with program(stage.web) as client:
        assert said in await refusal(client, "/series", body)


async def test_a_site_that_does_not_answer_is_not_the_callers_fault(stage: SeriesStage) -> None:
    async with program(stage.web) as client, WebServer() as server:
        gone = server.url("/nothing")
        answer = await client.post(f"{API}/series", json={"platform": "feeds", "key": gone})
        assert answer.status_code in (422, 502)
        assert answer.json()["detail"]


async def test_a_feed_becomes_one_more_source_by_a_pattern(stage: SeriesStage) -> None:
    async with program(stage.web) as client, WebServer() as server:
        series_id = await stage.add(client, "op", "One Piece", "1")
        path = f"/series/{series_id}/sources"
        wish = {"platform": "feeds", "key": server.say("/feed", FEED), "pattern": "One Piece {number}*"}
        made = await client.post(API + path, json=wish)
        assert made.status_code == 201, made.text
        channel_id = made.json()["channel_id"]
        sources = {one["listing"]["platform"]: one["pattern"] for one in made.json()["sources"]}
        assert sources == {"simulated": "", "feeds": "One Piece {number}*"}
        unknown = await client.post(f"{API}/series/{uuid4()}/sources", json=wish)
        assert unknown.status_code == 404
        assert (await client.delete(f"{API}{path}/{channel_id}")).status_code == 204
        assert (await client.delete(f"{API}{path}/{channel_id}")).status_code == 404
        assert len((await get_json(client, f"/series/{series_id}"))["sources"]) == 1


async def test_series_are_listed_in_pages_and_by_search(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        for title in ("Berserk", "100% Perfect", "akira", "Zetman"):
            await stage.add(client, title, title)
        first = (await get_json(client, "/series"))["series"][0]["id"]
        await client.post(f"{API}/follows", json={"series_id": first})
        shown = await get_pages(client, "/series", what="series", place="after", limit=2)
        assert [one["title"] for one in shown] == ["100% Perfect", "akira", "Berserk", "Zetman"]

        async def titles(**query: Any) -> list[str]:
            return [one["title"] for one in (await get_json(client, "/series", **query))["series"]]

        assert await titles(q="ER") == ["100% Perfect", "Berserk"]
        assert await titles(q="%") == ["100% Perfect"]
        assert await titles(followed=True) == ["100% Perfect"]
        assert (await client.get(f"{API}/series", params={"after": "x"})).status_code == 400


async def test_a_series_is_renamed_and_deleted(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        path = f"{API}/series/{await stage.add(client, 'op', 'One Piece', '1')}"
        assert (await client.patch(path, json={"title": "OP"})).json()["series"]["title"] == "OP"
        assert (await client.patch(path, json={"title": " \x00 "})).status_code == 422
        assert (await client.delete(path)).status_code == 204
        assert (await client.delete(path)).status_code == 404
        assert (await client.get(path)).status_code == 404
        assert (await client.patch(path, json={"title": "OP"})).status_code == 404


async def test_chapters_come_in_pages_with_their_releases(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        numbers = ["1", "2", "10", "10.5", "9"]
        series_id = await stage.add(client, "op", "One Piece", *numbers)
        path = f"/series/{series_id}/chapters"
        shown = await get_pages(client, path, what="chapters", place="before", limit=2)
        assert [one["number"] for one in shown] == ["10.5", "10", "9", "2", "1"]
        release = shown[0]["releases"][0]
        assert (release["language"], release["group"], release["platform"]) == (
            "en",
            "Tidewater",
            "simulated",
        )
        assert release["url"] == "https://example.org/op/10.5"
        assert (await client.get(f"{API}/series/{uuid4()}/chapters")).status_code == 404
        assert (await client.get(API + path, params={"before": "%"})).status_code == 400


async def test_progress_is_the_callers_own(stage: SeriesStage) -> None:
    async with program(stage.web) as client, program(stage.web, name="bob", role="member") as bob:
        series_id = await stage.add(client, "op", "One Piece", "1", "2", "3")
        path = f"{API}/series/{series_id}/progress"
        read = (await client.put(path, json={"chapter": "2.0"})).json()
        assert (read["read_chapter"], read["unread"]) == ("2", 1)
        chapters = (await get_json(client, f"/series/{series_id}/chapters"))["chapters"]
        assert [one["read"] for one in chapters] == [False, True, True]
        assert (await get_json(bob, f"/series/{series_id}/progress"))["unread"] == 3
        back = await client.delete(path, params={"chapter": chapters[-1]["id"]})
        assert (back.json()["read_chapter"], back.json()["unread"]) == ("", 3)
        assert (await client.put(path, json={"chapter": "99"})).status_code == 404
        assert (await client.delete(path)).status_code == 422
