"""One item: the page, the API and the command show the same of it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

from webworld import START, WebWorld

from headgate.storage.queries import QueryFile

SEEDS = QueryFile(
    "items",
    """
-- name: see
with said as (
    insert into message (channel_id, key, position, topic, author, text, sent_at, version_at, seen_at)
    values (%(channel_id)s, %(key)s, 1, %(topic)s, %(author)s, %(text)s, %(at)s, %(at)s, %(at)s)
)
insert into sighting (id, channel_id, message_key, attachment_key, position, topic, file_name, size_bytes,
    mime_type, sent_at, version_at, seen_at, verdict, deleted_at, item_id)
values (%(id)s, %(channel_id)s, %(key)s, 'a0', 1, %(topic)s, 'otter_pack.zip', 1500000, 'application/zip',
    %(at)s, %(at)s, %(at)s, %(verdict)s, %(deleted_at)s, %(item_id)s)

-- name: add_topic
insert into topic (channel_id, key, title, created_at) values (%(channel_id)s, '7', 'Releases', %(now)s)
""",
)


async def see(
    world: WebWorld,
    channel_id: UUID,
    item_id: UUID,
    *,
    minute: int,
    text: str = "",
    topic: str = "",
    verdict: str = "kept",
    deleted: bool = False,
) -> None:
    """Let an item be seen in a message of its own."""
    at = START + timedelta(minutes=minute)
    async with world.database.transaction() as tx:
        await tx.execute(
            SEEDS["see"],
            id=uuid4(),
            channel_id=channel_id,
            item_id=item_id,
            key=str(minute),
            topic=topic,
            author="mia",
            text=text,
            at=at,
            verdict=verdict,
            deleted_at=at if deleted else None,
        )


async def add_pack(world: WebWorld) -> UUID:
    channel_id = await world.add_channel("Field recordings")
    item_id = await world.add_item(channel_id, "otter pack", kind="package")
    async with world.database.transaction() as tx:
        await tx.execute(SEEDS["add_topic"], channel_id=channel_id, now=START)
    await see(
        world, channel_id, item_id, minute=2, text="again <b>all</b>", deleted=True, verdict="too_large"
    )
    await see(world, channel_id, item_id, minute=1, text="the otters, all of them\n#otters", topic="7")
    return item_id


async def test_a_page_shows_what_was_said_and_where_it_was_seen(world: WebWorld) -> None:
    item_id = await add_pack(world)
    async with world.signed_in() as client:
        assert f'href="/items/{item_id}"' in (await client.get("/")).text
        page = (await client.get(f"/items/{item_id}")).text
    assert "the otters, all of them\n#otters" in page
    assert "otter_pack.zip" in page
    assert "Releases" in page
    assert "not kept: it is too large · deleted on the platform" in page
    assert "<b>all</b>" not in page
    assert page.index("Releases") < page.index("not kept")


async def test_the_api_lists_the_messages_the_first_one_first(world: WebWorld) -> None:
    item_id = await add_pack(world)
    async with world.signed_in() as client:
        answer = (await client.get(f"/api/v1/items/{item_id}")).json()
    assert answer["item"]["title"] == "otter pack"
    assert [seen["message_key"] for seen in answer["places"]] == ["1", "2"]
    assert [seen["verdict"] for seen in answer["places"]] == ["kept", "too_large"]
    assert answer["places"][0]["text"] == "the otters, all of them\n#otters"


async def test_an_item_has_a_history_oldest_first(world: WebWorld) -> None:
    item_id = await add_pack(world)
    async with world.signed_in() as client:
        page = (await client.get(f"/items/{item_id}")).text
        answer = (await client.get(f"/api/v1/items/{item_id}")).json()["history"]
    told = [event["text"] for event in answer]
    assert told[-2:] == ["Posted again", "Message deleted on the platform"]
    assert set(told[:-2]) == {"Posted", "Found"}
    assert [event["at"] for event in answer] == sorted(event["at"] for event in answer)
    history = page[page.index('id="history"') :]
    assert history.index("Posted") < history.index("Posted again") < history.index("Message deleted")


async def test_a_hidden_item_says_so_and_an_unknown_one_is_not_found(world: WebWorld) -> None:
    channel_id = await world.add_channel()
    hidden = await world.add_item(channel_id, "hidden", hidden=True)
    async with world.signed_in() as client:
        page = await client.get(f"/items/{hidden}")
        assert "This item is hidden" in page.text
        assert "No message contains it any more" in page.text
        for path in (f"/items/{uuid4()}", f"/api/v1/items/{uuid4()}"):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/items/nonsense")).status_code in {404, 422}


async def test_of_an_item_that_is_posted_daily_the_first_places_are_listed(world: WebWorld) -> None:
    channel_id = await world.add_channel()
    item_id = await world.add_item(channel_id, "daily")
    for minute in range(101):
        await see(world, channel_id, item_id, minute=minute)
    async with world.signed_in() as client:
        page = (await client.get(f"/items/{item_id}")).text
        answer = (await client.get(f"/api/v1/items/{item_id}")).json()
    assert "these are the first 100 times" in page
    assert (len(answer["places"]), answer["has_more"]) == (100, True)
