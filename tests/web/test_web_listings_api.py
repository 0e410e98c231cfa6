"""The API of listings, hosts, feeds and lists of feeds."""

from __future__ import annotations

from uuid import uuid4

from programs import program
from series_stage import API, SeriesStage, get_json, get_pages
from web_server import WebServer

from headgate.domain.listings.opml import MAX_BYTES, OpmlFeed, parse_opml, write_opml

FEED = """<rss version="2.0"><channel><title>Scans</title>
<item><guid>1</guid><title>One Piece 1100</title></item></channel></rss>"""


async def test_listings_tell_how_they_stand_and_why(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        for title in ("B", "a", "C"):
            await stage.add(client, title, title, "1")
        shown = await get_pages(client, "/listings", what="listings", place="after", limit=2)
        assert [one["title"] for one in shown] == ["a", "B", "C"]
        assert {(one["checks"], one["breaker"], one["host_breaker"]) for one in shown} == {
            (1, "closed", "closed")
        }
        assert all(one["why"] and one["frequency_why"] and one["due_at"] for one in shown)
        assert await get_json(client, f"/listings/{shown[0]['channel_id']}") == shown[0]
        (host,) = (await get_json(client, "/hosts"))["hosts"]
        assert (host["name"], host["listings"], host["breaker"]) == ("example.org", 3, "closed")


async def test_the_pace_of_one_host_is_set_and_given_back(stage: SeriesStage) -> None:
    async with program(stage.web, "admin") as client:
        await stage.add(client, "op", "One Piece", "1")
        (host,) = (await get_json(client, "/hosts"))["hosts"]
        path = f"{API}/hosts/simulated/example.org/pace"
        paced = (await client.post(path, json={"per_minute": 12})).json()
        assert (paced["per_minute"], paced["pace_set"]) == (12, True)
        (listing,) = (await get_json(client, "/listings"))["listings"]
        assert listing["host_per_minute"] == 12
        default = (await client.post(path, json={"per_minute": "default"})).json()
        assert (default["per_minute"], default["pace_set"]) == (host["per_minute"], False)
        assert (await client.post(path, json={"per_minute": 0})).status_code == 422
        nowhere = f"{API}/hosts/simulated/nowhere.example/pace"
        assert (await client.post(nowhere, json={"per_minute": 12})).status_code == 404


async def test_what_is_wrong_with_feeds_is_told_with_what_helps(stage: SeriesStage) -> None:
    async with program(stage.web, "admin") as client:
        for title in ("Gone", "Long", "Well"):
            await stage.add(client, title, title, "1")
        await stage.listed.bench.rows(
            "update listing l set gone_at = case c.title when 'Gone' then now() end,"
            " reason = case c.title when 'Long' then 'paced' else reason end,"
            " due_at = case c.title when 'Long' then l.planned_at + interval '1 hour' else l.due_at end"
            " from channel c where c.id = l.channel_id"
        )
        problems = (await get_json(client, "/listing-problems"))["problems"]
        assert [(one["trouble"], one["title"]) for one in problems] == [("gone", "Gone"), ("paced", "Long")]
        assert problems[1]["remedy"] == "Raise the pace if the site allows it."
    async with program(stage.web, "read") as reader:
        assert (await reader.get(f"{API}/listing-problems")).status_code == 403
    async with stage.web.signed_in() as person:
        home = (await person.get("/")).text
    assert "Gone for good (410): Gone." in home
    assert "because of the pace of their site: Long." in home
    assert "`headgate" not in home


async def test_a_person_asks_for_a_check_and_sets_the_frequency(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        await stage.add(client, "op", "One Piece", "1")
        (listing,) = (await get_json(client, "/listings"))["listings"]
        path = f"{API}/listings/{listing['channel_id']}"
        asked = (await client.post(f"{path}/check")).json()
        assert (asked["reason"], asked["why"]) == ("asked", "a person asked for it")
        chosen = (await client.put(f"{path}/frequency", json={"frequency": "often"})).json()
        assert (chosen["frequency"], chosen["frequency_chosen"], chosen["frequency_why"]) == (
            "often",
            True,
            "A person chose this.",
        )
        auto = (await client.put(f"{path}/frequency", json={"frequency": "automatic"})).json()
        assert not auto["frequency_chosen"]
        stage.listed.publish("op", "2")
        await stage.listed.work()
        changes = (await client.get(f"{path}/frequency-changes")).json()["changes"]
        assert [(one["from_frequency"], one["to_frequency"]) for one in changes] == [("often", "normal")]
        assert (await client.put(f"{path}/frequency", json={"frequency": "HOT"})).status_code == 422


async def test_what_is_no_listing_is_not_found(stage: SeriesStage) -> None:
    path = f"{API}/listings/{uuid4()}"
    async with program(stage.web) as client:
        assert (await client.get(path)).status_code == 404
        assert (await client.post(f"{path}/check")).status_code == 404
        assert (await client.put(f"{path}/frequency", json={"frequency": "automatic"})).status_code == 404
        assert (await client.get(f"{path}/frequency-changes")).status_code == 404


async def test_a_feed_is_followed_by_its_address_alone(stage: SeriesStage) -> None:
    async with program(stage.web) as client, WebServer() as server:
        url = server.say("/feed", FEED)
        made = (await client.post(f"{API}/feeds", json={"address": url})).json()
        assert (made["listing"]["title"], made["series_id"], made["is_new"]) == ("Scans", None, True)
        mapped = await client.post(
            f"{API}/feeds", json={"address": url, "series": "One Piece", "pattern": "One Piece {number}"}
        )
        assert not mapped.json()["is_new"]
        shown = await get_json(client, f"/series/{mapped.json()['series_id']}")
        assert (shown["series"]["title"], shown["sources"][0]["pattern"]) == (
            "One Piece",
            "One Piece {number}",
        )
        bad = await client.post(f"{API}/feeds", json={"address": url, "pattern": "x" * 300})
        assert bad.status_code == 422


async def test_passwords_in_addresses_are_shown_to_nobody(stage: SeriesStage) -> None:
    async with program(stage.web) as client, WebServer() as server:
        server.say("/feed", FEED)
        url = server.url("/feed", login="me:geheim-4711")
        made = await client.post(f"{API}/feeds", json={"address": url, "series": "S"})
        assert made.status_code == 201
        everything = made.text + (await client.get(f"{API}/listings")).text
        everything += (await client.get(f"{API}/series/{made.json()['series_id']}")).text
        assert "geheim-4711" not in everything
        everything += (await client.get(f"{API}/series/find", params={"platform": "feeds", "q": url})).text
        everything += (await client.get(f"{API}/opml")).text
        assert "geheim-4711" not in everything
        assert (await client.get(f"{API}/opml?secrets=true")).status_code == 403
        async with program(stage.web, "admin") as admin:
            assert "geheim-4711" not in (await admin.get(f"{API}/opml")).text
            assert "geheim-4711" in (await admin.get(f"{API}/opml?secrets=true")).text


async def test_a_private_feed_is_picked_by_the_key_that_is_shown(stage: SeriesStage) -> None:
    async with program(stage.web) as client, WebServer() as server:
        server.say("/feed", FEED)
        wish = {"platform": "feeds", "query": server.url("/feed", login="me:geheim-4711")}
        found = await client.get(f"{API}/series/find", params={"platform": "feeds", "q": wish["query"]})
        (one,) = found.json()["found"]
        made = await client.post(f"{API}/series", json={**wish, "title": "S", "pick": one["key"]})
        assert made.status_code == 201, made.text


async def test_a_list_of_feeds_goes_in_and_comes_out(stage: SeriesStage) -> None:
    feeds = [
        OpmlFeed("https://a.example/feed", "A", series="S", pattern="S {number}"),
        OpmlFeed("ftp://b.example/", "B"),
    ]
    document = write_opml(feeds, title="Mine", now=stage.web.clock.now())
    async with program(stage.web) as client:
        told = (await client.post(f"{API}/opml", files={"file": ("mine.opml", document)})).json()
        assert [one["title"] for one in told["added"]] == ["A"]
        assert [(one["feed"]["title"], "http" in one["reason"]) for one in told["refused"]] == [("B", True)]
        exported = await client.get(f"{API}/opml")
        assert exported.headers["content-type"].startswith("text/x-opml")
        assert parse_opml(exported.content) == feeds[:1]
        again = (await client.post(f"{API}/opml", files={"file": ("mine.opml", exported.content)})).json()
        assert (len(again["known"]), again["added"], again["refused"]) == (1, [], [])


async def test_a_list_that_is_none_is_refused_before_it_costs_anything(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        for content in (b"", b"<rss/>", b"<!DOCTYPE opml [<!ENTITY a 'b'>]><opml/>", b"<opml/>"):
            answer = await client.post(f"{API}/opml", files={"file": ("x.opml", content)})
            assert answer.status_code == 422, content
        huge = await client.post(f"{API}/opml", files={"file": ("x.opml", b" " * (MAX_BYTES + 200_000))})
        assert huge.status_code == 413
