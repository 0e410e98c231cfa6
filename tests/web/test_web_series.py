"""The pages of series: the shelf, chapters and reading, sources, following."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

from outflow_pages import text_of
from series_pages import add_series, chapter_ids, publish, raw
from webworld import START, WebWorld, post


async def test_an_empty_shelf_says_what_to_do(world: WebWorld) -> None:
    async with world.signed_in() as client:
        page = await client.get("/series")
        followed = await client.get("/series?followed=true")
    assert "No series yet" in page.text
    assert 'href="/series/add"' in page.text
    assert "No notifications yet" in followed.text


async def test_the_shelf_tells_how_far_a_series_is_and_the_reader(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1", "2", "3")
    await add_series(world, "Paper Cranes", "7.5")
    async with world.signed_in() as client:
        chapters = await chapter_ids(world, made)
        await post(client, f"{made.path}/read", chapter=chapters["1"])
        text = text_of(await client.get("/series"))
        found = text_of(await client.get("/series?q=CRANE"))
        nothing = await client.get("/series?q=100%25_")
    assert "Tidewater 3 chapters · 1 source Chapter 3 2 unread 1 h ago" in text
    assert "Paper Cranes 1 chapter · 1 source Chapter 7.5 1 unread" in text
    assert "Tidewater" not in found
    assert "No series is called “100%_”" in nothing.text


async def test_the_shelf_comes_in_pages_by_title(world: WebWorld) -> None:
    for number in range(55):
        await add_series(world, f"Series {number:02}")
    async with world.signed_in() as client:
        first = await client.get("/series")
        more = re.search(r'href="(/series\?after=[^"]+)">More series', first.text)
        assert more is not None
        second = await client.get(more[1])
        broken = await client.get("/series?after=x")
    assert first.text.count("data-row") == 50
    assert [name for name in ("Series 49", "Series 50", "Series 54") if name in second.text] == [
        "Series 50",
        "Series 54",
    ]
    assert "More series" not in second.text
    assert broken.status_code == 400


async def test_a_series_is_followed_from_the_shelf_and_only_these_are_shown(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    await add_series(world, "Paper Cranes")
    async with world.signed_in() as client:
        answer = await post(client, f"{made.path}/follow", back="/series?followed=true")
        assert (answer.status_code, answer.headers["location"]) == (303, "/series?followed=true")
        again = await post(client, f"{made.path}/follow", back="https://evil.example/")
        assert again.headers["location"] == "/"
        text = text_of(await client.get("/series?followed=true"))
        assert "Notifications on for Tidewater: stop" in text
        assert "Paper Cranes" not in text
        await post(client, f"{made.path}/unfollow", back="/series")
        assert "No notifications yet" in (await client.get("/series?followed=true")).text
        assert (await post(client, f"/series/{uuid4()}/follow")).status_code == 422


async def test_chapters_are_newest_first_with_their_releases(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "9", "10", "9.5")
    await publish(world, made, "11", volume="3", external=True, group="", language="pt-br")
    await publish(world, made, "12", url="javascript:alert(1)")
    await raw(
        world, "update release set removed_at = $1 where url like '%/9.5'", START - timedelta(minutes=5)
    )
    async with world.signed_in() as client:
        page = await client.get(made.path)
    text = text_of(page)
    assert [text.index(f"Chapter {number} ") for number in ("12", "11", "10", "9.5", "9")] == sorted(
        text.index(f"Chapter {number} ") for number in ("12", "11", "10", "9.5", "9")
    )
    assert "Chapter 11 Vol. 3" in text
    assert "pt-br Tidewater on the site elsewhere" in text
    assert "javascript:" not in page.text
    assert '<a href="https://example.org/10" rel="noreferrer">Harbour Scans</a>' in page.text
    assert "<s>Harbour Scans</s>" in page.text
    assert "removed 5 min ago" in text


async def test_many_chapters_come_in_pages(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", *(str(number) for number in range(1, 54)))
    async with world.signed_in() as client:
        first = await client.get(made.path)
        following = re.search(r'href="([^"]+)">Earlier chapters', first.text)
        assert following is not None
        second = await client.get(following[1])
        strange = await client.get(f"{made.path}?below={uuid4()}")
    assert ("Chapter 4<" in first.text, "Chapter 3<" in first.text) == (True, False)
    assert ("Chapter 4<" in second.text, "Chapter 3<" in second.text) == (False, True)
    assert strange.status_code == 404


async def test_reading_goes_up_to_a_chapter_and_back(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1", "2", "3")
    other = await add_series(world, "Paper Cranes", "1")
    async with world.signed_in() as client:
        chapters = await chapter_ids(world, made)
        await post(client, f"{made.path}/read", chapter=chapters["2"])
        page = await client.get(made.path)
        assert "1 unread read up to 2" in text_of(page)
        assert page.text.count('class="is-read"') == 2
        await post(client, f"{made.path}/unread", chapter=chapters["2"])
        assert "2 unread read up to 1" in text_of(await client.get(made.path))
        strange = await post(client, f"{other.path}/read", chapter=chapters["1"])
        assert strange.status_code == 404


async def test_how_to_be_told_is_kept_and_faults_are_said(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    async with world.signed_in() as client:
        assert "Off. Press" in (await client.get(made.path)).text
        path = f"{made.path}/switches"
        await post(client, path, in_app="true", per="source", languages="en, pt_BR")
        page = await client.get(made.path)
        assert 'value="source" checked' in page.text
        assert 'name="languages" value="en, pt-br"' in page.text
        assert 'name="push" value="true" checked' not in page.text
        nothing = await post(client, path, languages="en")
        assert nothing.status_code == 422
        assert "Without the list and without push there is nothing to notify." in nothing.text
        wrong = await post(client, path, in_app="true", languages="english!")
        assert "is not a language" in wrong.text


async def test_a_source_says_in_words_how_it_stands(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    change = (
        "update listing set tier = 'HOT', tier_reason = 'daily_due', due_at = $2, asked = false,"
        " succeeded_at = $3, reason = 'due' where channel_id = $1"
    )
    await raw(world, change, made.channel_id, START + timedelta(minutes=4), START - timedelta(minutes=1))
    async with world.signed_in() as client:
        text = text_of(await client.get(made.path))
        assert "Checked every 5 minutes, because it publishes about every day" in text
        assert "Next check in 4 min" in text
        assert "Last read 1 min ago" in text
        fail = "update watch set failures = 6, open_until = $1, error_message = 'no answer'"
        await raw(world, fail, START + timedelta(minutes=9))
        text = text_of(await client.get(made.path))
        assert "It failed 6 times in a row and rests for a while; then one try decides." in text
        assert "Next try in 9 min . Last error: no answer" in text
        channels = text_of(await client.get("/channels"))
        assert "failing read 1 min ago It failed 6 times in a row" in channels


async def test_a_source_is_looked_at_now_pinned_and_taken_away(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    await raw(world, "update listing set due_at = null, asked = false")
    path = f"{made.path}/sources/{made.channel_id}"
    async with world.signed_in() as client:
        await post(client, f"{path}/check")
        page = await client.get(made.path)
        assert "Next check now , a person asked for it" in text_of(page)
        assert "every 3s" in page.text
        await post(client, f"{path}/frequency", frequency="rarely")
        assert "Checked every 4 hours, because a person chose this." in (await client.get(made.path)).text
        assert (await raw(world, "select tier_pinned from listing"))[0]["tier_pinned"]
        await post(client, f"{path}/frequency", frequency="automatic")
        assert not (await raw(world, "select tier_pinned from listing"))[0]["tier_pinned"]
        assert (await post(client, f"{path}/frequency", frequency="HOT")).status_code == 422
        assert (await post(client, f"{made.path}/sources/{uuid4()}/check")).status_code == 404
        question = await client.get(f"{path}/remove")
        assert "Remove “Tidewater on the site” from this series?" in question.text
        await post(client, f"{path}/remove")
        page = (await client.get(made.path)).text
        assert "Harbour Scans" not in page
        assert "Tidewater on the site" not in page


async def test_a_series_is_renamed_and_removed_after_a_question(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    async with world.signed_in() as client:
        await post(client, f"{made.path}/rename", title="  Tide   and Water ")
        assert "<h1>Tide and Water</h1>" in (await client.get(made.path)).text
        assert "A series needs a title." in (await post(client, f"{made.path}/rename", title=" ")).text
        assert "Remove this series?" in (await client.get(f"{made.path}/remove")).text
        gone = await post(client, f"{made.path}/remove")
        assert gone.headers["location"] == "/series"
        assert (await client.get(made.path)).status_code == 404
        assert (await post(client, f"{made.path}/remove")).status_code == 404


def _open_platform(world: WebWorld) -> None:
    world.platform.add_account("anonymous")
    world.platform.add_listing("sky", title="Sky harbour")


async def _add_account(world: WebWorld) -> None:
    await raw(
        world,
        "insert into account (id, platform, name, established, state, created_at)"
        " values ($1, 'simulated', 'anonymous', true, 'active', $2)",
        uuid4(),
        START,
    )


async def test_a_series_is_found_added_and_followed(world: WebWorld) -> None:
    _open_platform(world)
    await _add_account(world)
    async with world.signed_in() as client:
        form = await client.get("/series/add")
        assert "Simulated platform" in form.text
        found = await client.get("/series/add?platform=simulated&q=sky")
        assert "Found Sky harbour sky" in text_of(found)
        nothing = await client.get("/series/add?platform=simulated&q=moon")
        assert "Nothing found for “moon”" in nothing.text
        strange = await client.get("/series/add?platform=myspace&q=moon")
        assert "there is no connector for the platform" in strange.text
        fields = {"platform": "simulated", "q": "sky", "pick": "sky", "title": "Sky harbour", "key": "sky"}
        added = await post(client, "/series/add", kind="series", follow="true", **fields)
        assert added.status_code == 303
        page = text_of(await client.get(added.headers["location"]))
        assert "Sky harbour 1 source Notifications on" in page
        assert "No chapter yet" in page
        again = await post(client, "/series/add", kind="series", **fields)
        assert again.headers["location"] == added.headers["location"]


async def test_a_feed_brings_posts_or_by_a_pattern_chapters(world: WebWorld) -> None:
    _open_platform(world)
    await _add_account(world)
    made = await add_series(world, "Tidewater", "1")
    fields = {
        "platform": "simulated",
        "q": "sky",
        "title": "Sky",
        "key": "sky",
        "kind": "feed",
        "pick": "sky",
    }
    async with world.signed_in() as client:
        unnamed = await post(client, "/series/add", **fields, brings="chapters", language="en")
        assert unnamed.status_code == 422
        assert "Sky is a feed and does not name a series." in unnamed.text
        assert 'name="language" value="en"' in unnamed.text
        vague = await post(
            client, "/series/add", **fields, brings="chapters", series="New", pattern="{number}"
        )
        assert "The title pattern has no fixed text" in vague.text
        unpicked = await post(client, "/series/add", **(fields | {"pick": ""}))
        assert "Nothing is selected." in unpicked.text
        posts = await post(client, "/series/add", **fields, brings="posts", follow="true")
        assert posts.headers["location"] == "/channels"
        assert "Notifications on for Sky: stop" in text_of(await client.get("/channels"))
        chapters = await post(
            client,
            "/series/add",
            **fields,
            brings="chapters",
            series="tidewater",
            pattern="Tidewater {number}*",
        )
        assert chapters.headers["location"] == made.path
        text = text_of(await client.get(made.path))
        assert "2 sources" in text
        assert "Pattern Tidewater {number}*" in text
        more = await client.get(f"/series/add?series={made.series_id}&q=sky&platform=simulated")
        assert "It becomes another source of Tidewater" in more.text


async def test_posts_in_the_library_lead_to_where_they_are_from(world: WebWorld) -> None:
    channel_id = await world.add_channel("Harbour journal", kind="listing")
    for title, url in (("A walk", "https://journal.example/walk"), ("A trap", "javascript:alert(1)")):
        item_id = await world.add_item(channel_id, title, kind="post")
        await raw(
            world,
            "insert into sighting (id, channel_id, message_key, attachment_key, position, url, file_name,"
            " size_bytes, mime_type, sent_at, version_at, verdict, seen_at, item_id)"
            " values ($1, $2, $3, 'entry', 0, $4, $3, 0, 'text/x-post', $5, $5, 'kept', $5, $6)",
            uuid4(),
            channel_id,
            title,
            url,
            START,
            item_id,
        )
    async with world.signed_in() as client:
        page = await client.get("/")
    assert 'href="https://journal.example/walk" rel="noreferrer" data-opens>A walk</a>' in page.text
    assert "Harbour journal" in page.text
    assert "javascript:" not in page.text
