"""The library's page and its API."""

from __future__ import annotations

import re
from datetime import timedelta

from webworld import START, Q, WebWorld, form_token

from headgate.storage.queries import QueryFile
from headgate.storage.shelf.touched import touch_items

SEEDS = QueryFile(
    "many",
    """
-- name: items
insert into item (id, channel_id, content_key, kind, title, size_bytes, sent_at, caught_at)
select
    gen_random_uuid(), %(channel_id)s, n::text, 'file', 'Item ' || lpad(n::text, 4, '0'), 1000, %(at)s, %(at)s
from generate_series(1, %(count)s::int) as n
returning id
""",
)


def titles(page: str) -> list[str]:
    return re.findall(r"data-opens>(Item \d{4})</a>", page)


async def add_many(world: WebWorld, count: int) -> None:
    """Insert items that were all caught at the same moment."""
    channel_id = await world.add_channel()
    async with world.database.transaction() as tx:
        touch_items(tx, await tx.column(SEEDS["items"], channel_id=channel_id, count=count, at=START))


async def test_an_empty_library_says_what_to_do(world: WebWorld) -> None:
    async with world.signed_in() as client:
        assert "headgate demo" in (await client.get("/")).text
        await world.add_channel()
        assert "Headgate reads 1 channel." in (await client.get("/")).text


async def test_items_are_listed_newest_caught_first(world: WebWorld) -> None:
    channel_id = await world.add_channel("Field recordings")
    await world.add_item(channel_id, "Item 0001", minute=1)
    await world.add_item(channel_id, "Item 0003", minute=3, kind="package")
    await world.add_item(channel_id, "Item 0002", minute=2)
    await world.add_item(channel_id, "Item 0009", minute=9, hidden=True)
    async with world.signed_in() as client:
        page = (await client.get("/")).text
    assert titles(page) == ["Item 0003", "Item 0002", "Item 0001"]
    assert "Field recordings" in page
    assert "1.5\u00a0MB" in page


async def test_pages_neither_repeat_nor_lose_items_of_one_moment(world: WebWorld) -> None:
    await add_many(world, 125)
    seen: list[str] = []
    async with world.signed_in() as client:
        path = "/"
        while path:
            page = (await client.get(path)).text
            seen += titles(page)
            older = re.search(r'<a href="(/\?after=[^"]+)"', page)
            path = older[1] if older else ""
    assert len(seen) == 125
    assert len(set(seen)) == 125


async def test_what_arrives_is_counted_and_what_changed_is_shown_in_place(world: WebWorld) -> None:
    await add_many(world, 60)
    async with world.signed_in() as client:
        first = (await client.get("/")).text
        new = re.search(r'id="new"[^>]* hx-get="([^"]+)"', first)
        assert new is not None
        known = re.findall(r'id="row-([0-9a-f-]+)" data-version="([0-9a-f]+)"', first)
        assert len(known) == 60
        channel_id = await world.add_channel("Another")
        item_id = await world.add_item(channel_id, "Item 9999", minute=5)
        pill = (await client.get(new[1].replace("&amp;", "&"))).text
        asked = ",".join(f"{row_id}.{version}" for row_id, version in [*known[:5], (str(item_id), "old")])
        changed = (await client.get("/library/changed", params={"known": asked})).text
    assert "1 new" in pill
    assert titles(changed) == ["Item 9999"]


async def test_filters_sort_and_view_stand_in_the_address(world: WebWorld) -> None:
    channel_id = await world.add_channel("Field recordings")
    await world.add_item(channel_id, "Item 0001", minute=1, kind="package")
    await world.add_item(channel_id, "Item 0002", minute=2)
    await world.add_item(await world.add_channel("Other"), "Item 0003", minute=3)
    async with world.signed_in() as client:
        page = (await client.get("/", params={"channel": str(channel_id), "sort": "oldest"})).text
        assert titles(page) == ["Item 0001", "Item 0002"]
        assert "Remove the filter: Field recordings" in page
        assert titles((await client.get("/?kind=package")).text) == ["Item 0001"]
        wrong = await client.get("/?kind=nonsense")
        assert (wrong.status_code, titles(wrong.text)) == (422, ["Item 0003", "Item 0002", "Item 0001"])
        assert "is not a kind" in wrong.text
        assert (await client.get("/?after=nonsense")).status_code == 400
        count = (await client.get("/library/count?kind=package")).text
    assert "<b>1</b> thing<" in count


async def test_the_first_page_begins_with_the_default_view(world: WebWorld) -> None:
    channel_id = await world.add_channel()
    await world.add_item(channel_id, "Item 0001", kind="package")
    await world.add_item(channel_id, "Item 0002", minute=1)
    async with world.signed_in() as client:
        token = await form_token(client)
        saved = await client.post(
            "/library/views", data={"csrf_token": token, "name": "Packages", "query": "kind=package"}
        )
        assert saved.headers["location"] == "/?kind=package"
        view = re.search(r'action="(/library/views/[0-9a-f-]+)"', (await client.get("/?kind=package")).text)
        assert view is not None
        await client.post(view[1], data={"csrf_token": token, "do": "default"})
        assert (await client.get("/")).headers["location"] == "/?kind=package"
        assert titles((await client.get("/?all=1")).text) == ["Item 0002", "Item 0001"]


async def test_titles_are_searched_as_typed(world: WebWorld) -> None:
    channel_id = await world.add_channel()
    for number, title in enumerate(["100% cotton.zip", "100 patterns.zip", "a_b.txt", "axb.txt"]):
        await world.add_item(channel_id, title, minute=number)
    async with world.signed_in() as client:
        found = (await client.get("/api/v1/items", params={"q": "100%"})).json()["items"]
        assert [item["title"] for item in found] == ["100% cotton.zip"]
        found = (await client.get("/api/v1/items", params={"q": "A_B"})).json()["items"]
        assert [item["title"] for item in found] == ["a_b.txt"]
        found = (await client.get("/api/v1/items", params={"q": "a\x00_b"})).json()["items"]
        assert [item["title"] for item in found] == ["a_b.txt"]
        page = (await client.get("/", params={"q": "<script>"})).text
    assert "Nothing matches “&lt;script&gt;”" in page


async def test_titles_are_text_and_nothing_else(world: WebWorld) -> None:
    await world.add_item(await world.add_channel(), '<img src=x onerror="alert(1)">')
    async with world.signed_in() as client:
        page = (await client.get("/")).text
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


async def test_times_are_relative_with_the_exact_one_at_hand(world: WebWorld) -> None:
    await world.add_item(await world.add_channel(), "Item 0001")
    world.clock.advance(300)
    async with world.signed_in() as client:
        page = (await client.get("/")).text
    assert (
        f'<time datetime="{START.isoformat()}" title="2026-05-04 12:00:00 UTC">5\u00a0min ago</time>' in page
    )


async def test_the_api_goes_through_all_items(world: WebWorld) -> None:
    await add_many(world, 25)
    seen: list[str] = []
    async with world.signed_in() as client:
        following = ""
        while following is not None:
            answer = (await client.get(f"/api/v1/items?limit=10&before={following}")).json()
            seen += [item["id"] for item in answer["items"]]
            following = answer["next"]
    assert len(set(seen)) == len(seen) == 25


async def test_channels_show_how_far_they_were_read(world: WebWorld) -> None:
    channel_id = await world.add_channel("Forum")
    async with world.database.transaction() as tx:
        await tx.execute(
            Q["stream"],
            id=channel_id,
            floor=1,
            head=1_000_000_000_000_000_000,
            due_at=START + timedelta(minutes=5),
            message_count=12_345,
            scanned=10_000,
        )
        await tx.execute(Q["coverage"], id=channel_id, lens="photos", ranges="{[0,10)}")
        await tx.execute(
            Q["coverage"],
            id=channel_id,
            lens="everything",
            ranges="{[1,250000000000000001),[500000000000000001,2000000000000000000)}",
        )
    await world.add_channel("A feed", kind="listing")
    async with world.signed_in() as client:
        feed, forum = (await client.get("/api/v1/channels")).json()["channels"]
        page = (await client.get("/channels")).text
    assert forum["newest_position"] == "1000000000000000000"
    assert forum["covered_share"] == 0.75
    assert (forum["complete_from"], forum["complete_to"]) == ("500000000000000001", "1000000000000000000")
    assert (feed["newest_position"], feed["covered_share"]) == (None, None)
    assert "75.0\u00a0%" in page
    assert "in 5\u00a0min" in page
    assert "12\u202f345" in page


async def test_channels_come_in_pages_by_title(world: WebWorld) -> None:
    for title in ("b", "A", "a", "C & d/%", "c"):
        await world.add_channel(title)
    seen: list[str] = []
    async with world.signed_in() as client:
        following = ""
        while following is not None:
            answer = (await client.get("/api/v1/channels", params={"limit": 2, "after": following})).json()
            seen += [channel["title"] for channel in answer["channels"]]
            following = answer["next"]
    assert [title.lower() for title in seen] == ["a", "a", "b", "c", "c & d/%"]


async def test_administrators_see_what_gave_up(world: WebWorld) -> None:
    async with world.database.transaction() as tx:
        await tx.execute(Q["letter"], id="00000000-0000-0000-0000-000000000001", at=START)
    async with world.signed_in() as client:
        page = (await client.get("/jobs")).text
    assert "the channel is private now" in page
    assert "No jobs" in page
    assert "Stored files have never been verified." in page


API_PATHS = {
    "/api/v1/groups",
    "/api/v1/groups/labels",
    "/api/v1/groups/{group_id}",
    "/api/v1/groups/{group_id}/cover",
    "/api/v1/groups/{group_id}/cover/pick",
    "/api/v1/groups/{group_id}/dissolve",
    "/api/v1/groups/{group_id}/labels",
    "/api/v1/groups/{group_id}/members",
    "/api/v1/groups/{group_id}/members/remove",
    "/api/v1/groups/{group_id}/merge",
    "/api/v1/groups/{group_id}/restore",
    "/api/v1/library",
    "/api/v1/library/count",
    "/api/v1/library/members",
    "/api/v1/library/search",
    "/api/v1/library/sends",
    "/api/v1/library/sends/chat",
    "/api/v1/library/sends/{request_id}",
    "/api/v1/library/sends/{request_id}/cancel",
    "/api/v1/library/sends/{request_id}/resolve",
    "/api/v1/library/sends/{request_id}/retry",
    "/api/v1/library/views",
    "/api/v1/library/views/{view_id}",
    "/api/v1/items/drop",
    "/api/v1/items/fetch",
    "/api/v1/items/join",
    "/api/v1/items/labels",
    "/api/v1/items/remove",
    "/api/v1/items/{item_id}/dismiss",
    "/api/v1/items/{item_id}/labels",
    "/api/v1/items/{item_id}/retry",
    "/api/v1/items/{item_id}/separate",
    "/api/v1/label-rules",
    "/api/v1/label-rules/try",
    "/api/v1/label-rules/{rule_id}",
    "/api/v1/labels",
    "/api/v1/labels/rename",
    "/api/v1/labels/restore",
    "/api/v1/items",
    "/api/v1/items/{item_id}",
    "/api/v1/items/{item_id}/contents",
    "/api/v1/items/{item_id}/contents/{number}",
    "/api/v1/items/{item_id}/contents/{number}/contents",
    "/api/v1/items/{item_id}/download",
    "/api/v1/items/{item_id}/files/{file_id}",
    "/api/v1/pictures/{name}",
    "/api/v1/channels",
    "/api/v1/channels/{channel_id}/settings",
    "/api/v1/series",
    "/api/v1/series/find",
    "/api/v1/series/{series_id}",
    "/api/v1/series/{series_id}/sources",
    "/api/v1/series/{series_id}/sources/{channel_id}",
    "/api/v1/series/{series_id}/chapters",
    "/api/v1/series/{series_id}/progress",
    "/api/v1/listings",
    "/api/v1/listings/{channel_id}",
    "/api/v1/listings/{channel_id}/check",
    "/api/v1/listings/{channel_id}/frequency",
    "/api/v1/listings/{channel_id}/frequency-changes",
    "/api/v1/hosts",
    "/api/v1/hosts/{platform}/{name}/pace",
    "/api/v1/listing-problems",
    "/api/v1/feeds",
    "/api/v1/opml",
    "/api/v1/follows",
    "/api/v1/follows/{follow_id}",
    "/api/v1/notifications",
    "/api/v1/notifications/unread",
    "/api/v1/notifications/read",
    "/api/v1/notifications/{notification_id}/read",
    "/api/v1/notification-settings",
    "/api/v1/push-addresses",
    "/api/v1/push-addresses/{address_id}",
    "/api/v1/push-addresses/{address_id}/test",
    "/api/v1/push-addresses/{address_id}/pushes",
    "/api/v1/push-addresses/{address_id}/pushes/{push_id}/repeat",
    "/api/v1/group-rules",
    "/api/v1/group-rules/try",
    "/api/v1/group-rules/{rule_id}",
    "/api/v1/group-rules/{rule_id}/on",
    "/api/v1/group-rules/{rule_id}/off",
    "/api/v1/library/chapters",
    "/api/v1/library/send-rules",
    "/api/v1/library/send-rules/try",
    "/api/v1/library/send-rules/{rule_id}",
    "/api/v1/library/send-rules/{rule_id}/on",
    "/api/v1/library/send-rules/{rule_id}/off",
    "/api/v1/targets",
    "/api/v1/target-lists",
    "/api/v1/target-lists/{list_id}",
    "/api/v1/target-lists/{list_id}/members",
    "/api/v1/media",
    "/api/v1/media/{media_id}",
    "/api/v1/reminders",
    "/api/v1/reminders/preview",
    "/api/v1/reminders/{reminder_id}",
    "/api/v1/reminders/{reminder_id}/preview",
    "/api/v1/reminders/{reminder_id}/pause",
    "/api/v1/reminders/{reminder_id}/resume",
    "/api/v1/reminders/{reminder_id}/archive",
    "/api/v1/reminders/{reminder_id}/unarchive",
    "/api/v1/reminders/{reminder_id}/duplicate",
    "/api/v1/reminders/forecast",
    "/api/v1/reminders/test",
    "/api/v1/reminders/{reminder_id}/forecast",
    "/api/v1/reminders/{reminder_id}/run",
    "/api/v1/reminders/{reminder_id}/test",
    "/api/v1/runs",
    "/api/v1/runs/{run_id}",
    "/api/v1/runs/{run_id}/deliveries",
    "/api/v1/runs/{run_id}/forecast",
    "/api/v1/runs/{run_id}/pause",
    "/api/v1/runs/{run_id}/resume",
    "/api/v1/runs/{run_id}/cancel",
    "/api/v1/runs/{run_id}/retry",
    "/api/v1/runs/{run_id}/resolve",
    "/api/v1/runs/{run_id}/send-rest",
    "/api/v1/accounts",
    "/api/v1/accounts/logins",
    "/api/v1/accounts/logins/{login_id}",
    "/api/v1/accounts/{account_id}/channels",
    "/api/v1/accounts/{account_id}/pace",
    "/api/v1/me",
    "/api/v1/me/password",
    "/api/v1/tokens",
    "/api/v1/tokens/{token_id}",
}


async def test_the_description_of_the_api_is_complete(world: WebWorld) -> None:
    async with world.signed_in() as client:
        paths = (await client.get("/api/openapi.json")).json()["paths"]
    assert set(paths) == API_PATHS
