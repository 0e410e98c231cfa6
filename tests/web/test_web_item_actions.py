"""What people do about items and sets does the same on the page and through the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from webworld import ORIGIN, START, WebWorld, form_token, post

from headgate.storage.queries import QueryFile

Q = QueryFile(
    "sets on pages",
    """
-- name: see
with said as (
    insert into message (channel_id, key, position, sent_at, version_at, seen_at)
    values (%(channel_id)s, %(name)s, %(position)s, %(now)s, %(now)s, %(now)s)
)
insert into sighting (id, channel_id, message_key, attachment_key, position, file_name, size_bytes, mime_type,
    sent_at, version_at, seen_at, verdict, volume_key, assembled, item_id)
values (%(id)s, %(channel_id)s, %(name)s, 'a0', %(position)s, %(name)s, 100, '', %(now)s, %(now)s, %(now)s,
    'kept', %(volume_key)s, true, %(item_id)s)

-- name: add_stream
insert into stream (channel_id) values (%(channel_id)s)

-- name: add_set
insert into item_set (item_id, state, reason, present, total, missing_count, missing, problem, arrived_at)
values (%(item_id)s, 'waiting', 'volumes_missing', 2, 3, 1, '{pack.part3.rar}', true, %(now)s)

-- name: add_alias
insert into item_alias (old_id, item_id) values (%(old_id)s, %(item_id)s)

-- name: list_choices
select s.file_name || ' ' || coalesce(c.item_id::text, 'alone') from volume_choice c
join sighting s on s.id = c.sighting_id order by 1

-- name: rename
update sighting set file_name = %(name)s where item_id = %(item_id)s

-- name: list_scans
select status from scan

-- name: list_touched
select volume_key from volume_bucket where changed_from is not null

-- name: add_files
insert into item_file (sighting_id, channel_id, state, source, size_bytes, due_at)
select id, channel_id, case when position = 1 then 'failed' else 'dropped' end, '', 100, sent_at
from sighting where item_id = %(item_id)s

-- name: add_file
insert into item_file (sighting_id, channel_id, state, source, size_bytes, due_at, wait_reason, needs_bytes,
    error_class, error_message)
select id, channel_id, %(state)s, '', 100, sent_at, case when %(needs_bytes)s > 0 then 'room' else '' end,
    %(needs_bytes)s, case when %(error)s <> '' then 'Transient' else '' end, %(error)s
from sighting where file_name = 'pack.part1.rar'

-- name: list_states
select state from item_file order by 1
""",
)


class Pack:
    """A set of two volumes that misses the third, and a file with another name."""

    def __init__(self, world: WebWorld, channel_id: UUID, item_id: UUID, other_id: UUID) -> None:
        self.world = world
        self.channel_id = channel_id
        self.item_id = item_id
        self.other_id = other_id

    async def column(self, name: str) -> list[Any]:
        async with self.world.database.transaction() as tx:
            return await tx.column(Q[name])


@pytest.fixture
async def pack(world: WebWorld) -> Pack:
    channel_id = await world.add_channel("Packs")
    item_id = await world.add_item(channel_id, "pack", kind="package")
    other_id = await world.add_item(channel_id, "pakc", kind="package")
    files = [("pack.part1.rar", item_id), ("pack.part2.rar", item_id), ("pakc.part3.rar", other_id)]
    async with world.database.transaction() as tx:
        await tx.execute(Q["add_stream"], channel_id=channel_id)
        for position, (name, owner) in enumerate(files):
            key = f"part:rar/{name[:4]}"
            await tx.execute(
                Q["see"],
                id=uuid4(),
                channel_id=channel_id,
                item_id=owner,
                name=name,
                position=position,
                volume_key=key,
                now=START,
            )
        await tx.execute(Q["add_set"], item_id=item_id, now=START)
    return Pack(world, channel_id, item_id, other_id)


ABSENT_FILES = [
    ("listed", 0, "", "The settings of its channel do not download it."),
    ("wanted", 3_000_000, "", "The disk has no room: it needs 3.0 MB."),
    ("wanted", 0, "the line broke", "The line broke. Headgate tries again."),
    ("failed", 0, "the line broke", "The line broke."),
    ("gone", 0, "", "Its message was deleted before it was downloaded."),
    ("dropped", 0, "", "Its content was deleted. It is not downloaded again unless you ask for it."),
]

ways = pytest.mark.parametrize("way", ["page", "api"])


async def act(client: httpx.AsyncClient, way: str, page: Sequence[Any], api: Sequence[Any]) -> int:
    """Do something on the page or through the API; returns the status of the answer."""
    if way == "page":
        path, fields = page
        return (await post(client, path, **fields)).status_code
    path, body = api
    headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
    return (await client.post(f"/api/v1{path}", json=body, headers=headers)).status_code


async def test_a_set_says_what_is_there_and_what_is_missing(pack: Pack) -> None:
    async with pack.world.signed_in() as client:
        page = (await client.get(f"/items/{pack.item_id}")).text
        answer = (await client.get(f"/api/v1/items/{pack.item_id}")).json()["volumes"]
    assert '<td class="wide">pack.part2.rar</td>' in page[page.index("Where it was seen") :]
    for text in ("2 of 3 volumes", "Incomplete", "Some volumes have not been posted yet", "pack.part3.rar"):
        assert text in page
    assert (answer["volumes"], answer["missing"], answer["problem"]) == (
        "2 of 3 volumes",
        "pack.part3.rar",
        True,
    )


async def test_the_address_of_a_merged_item_leads_to_its_set(pack: Pack) -> None:
    old_id = uuid4()
    async with pack.world.database.transaction() as tx:
        await tx.execute(Q["add_alias"], old_id=old_id, item_id=pack.item_id)
    async with pack.world.signed_in() as client:
        page = await client.get(f"/items/{old_id}")
        assert (page.status_code, page.headers["location"]) == (308, f"/items/{pack.item_id}")
        answer = (await client.get(f"/api/v1/items/{old_id}")).json()
    assert answer["item"]["id"] == str(pack.item_id)


@ways
async def test_a_problem_is_dismissed_once(pack: Pack, way: str) -> None:
    page = (f"/items/{pack.item_id}/set", {"do": "dismiss"})
    api = (f"/items/{pack.item_id}/dismiss", None)
    async with pack.world.signed_in() as client:
        assert await act(client, way, page, api) < 400
        answer = (await client.get(f"/api/v1/items/{pack.item_id}")).json()
        assert not answer["volumes"]["problem"]
        assert await act(client, way, page, api) == 404


@ways
async def test_items_are_joined_and_separated(pack: Pack, way: str) -> None:
    set_page = f"/items/{pack.item_id}/set"
    async with pack.world.signed_in() as client:
        address = f"https://library.example/items/{pack.other_id}"
        joined = (set_page, {"do": "join", "other": address})
        both = ("/items/join", {"items": [str(pack.item_id), str(pack.other_id)]})
        assert await act(client, way, joined, both) < 400
        assert await pack.column("list_choices") == [
            f"{name} {pack.item_id}" for name in ("pack.part1.rar", "pack.part2.rar", "pakc.part3.rar")
        ]
        apart = (set_page, {"do": "separate"})
        assert await act(client, way, apart, (f"/items/{pack.item_id}/separate", {})) < 400
        alone = [choice for choice in await pack.column("list_choices") if choice.endswith("alone")]
        assert alone == ["pack.part1.rar alone", "pack.part2.rar alone"]


@ways
async def test_what_names_no_item_is_refused(pack: Pack, way: str) -> None:
    page = (f"/items/{pack.item_id}/set", {"do": "join", "other": "the other one"})
    api = ("/items/join", {"items": [str(pack.item_id)]})
    async with pack.world.signed_in() as client:
        assert 400 <= await act(client, way, page, api) < 500
    assert await pack.column("list_choices") == []


@ways
async def test_items_of_two_namings_are_not_joined(pack: Pack, way: str) -> None:
    async with pack.world.database.transaction() as tx:
        await tx.execute(Q["rename"], item_id=pack.other_id, name="pakc.z01")
    page = (f"/items/{pack.item_id}/set", {"do": "join", "other": str(pack.other_id)})
    api = ("/items/join", {"items": [str(pack.item_id), str(pack.other_id)]})
    async with pack.world.signed_in() as client:
        assert 400 <= await act(client, way, page, api) < 500
    assert await pack.column("list_choices") == []


@ways
async def test_files_are_fetched_dropped_and_removed(pack: Pack, way: str) -> None:
    item = f"/items/{pack.item_id}"
    body = {"items": [str(pack.item_id)]}
    async with pack.world.signed_in() as client:
        assert await act(client, way, (f"{item}/fetch", {}), ("/items/fetch", body)) < 400
        assert await pack.column("list_states") == ["wanted", "wanted"]
        assert await act(client, way, (f"{item}/drop", {}), ("/items/drop", body)) < 400
        assert await pack.column("list_states") == ["dropped", "dropped"]
        assert await act(client, way, (f"{item}/remove", {}), ("/items/remove", body)) < 400
        assert (await client.get(item)).status_code == 404


@pytest.mark.parametrize(("state", "needs_bytes", "error", "reason"), ABSENT_FILES)
async def test_page_and_api_say_why_a_file_is_not_there(
    pack: Pack, state: str, needs_bytes: int, error: str, reason: str
) -> None:
    if state != "listed":
        async with pack.world.database.transaction() as tx:
            await tx.execute(Q["add_file"], state=state, needs_bytes=needs_bytes, error=error)
    async with pack.world.signed_in() as client:
        page = (await client.get(f"/items/{pack.item_id}")).text
        answer = (await client.get(f"/api/v1/items/{pack.item_id}")).json()
    (file,) = [file for file in answer["stored"]["files"] if file["name"] == "pack.part1.rar"]
    assert file["reason"] == reason
    assert f'<span class="line">{reason}</span>' in page


@ways
async def test_missing_volumes_are_looked_for_again(pack: Pack, way: str) -> None:
    page = (f"/items/{pack.item_id}/set", {"do": "retry"})
    async with pack.world.signed_in() as client:
        assert await act(client, way, page, (f"/items/{pack.item_id}/retry", None)) < 400
    assert await pack.column("list_scans") == ["QUEUED"]
    assert await pack.column("list_states") == []
    assert await pack.column("list_touched") == ["part:rar/pack"]


@ways
async def test_a_retry_downloads_what_failed_and_leaves_what_was_dropped(pack: Pack, way: str) -> None:
    page = (f"/items/{pack.item_id}/set", {"do": "retry"})
    async with pack.world.database.transaction() as tx:
        await tx.execute(Q["add_files"], item_id=pack.item_id)
    async with pack.world.signed_in() as client:
        assert await act(client, way, page, (f"/items/{pack.item_id}/retry", None)) < 400
    assert await pack.column("list_states") == ["dropped", "wanted"]


async def test_the_library_shows_how_complete_a_set_is(pack: Pack) -> None:
    async with pack.world.signed_in() as client:
        page = (await client.get("/")).text
        listed = (await client.get("/api/v1/items")).json()["items"]
    assert '<span class="tag bad">2 of 3 volumes</span>' in page
    assert {item["title"]: (item["volumes"], item["problem"]) for item in listed} == {
        "pack": ("2 of 3 volumes", True),
        "pakc": ("", False),
    }


async def test_pages_say_what_a_removal_frees(pack: Pack) -> None:
    item = f"/items/{pack.item_id}"
    async with pack.world.signed_in() as client:
        for what, shown in (("drop", f"{item}?freed=0"), ("remove", "/?freed=0")):
            answer = await post(client, f"{item}/{what}")
            assert answer.headers["location"] == shown
            assert "Nothing becomes free" in (await client.get(shown)).text
        assert "1.5 MB become free within two days" in (await client.get("/?freed=1500000")).text


async def test_people_are_asked_before_files_are_deleted(pack: Pack) -> None:
    async with pack.world.signed_in() as client:
        for what, words in (("drop", "Delete the stored files"), ("remove", "Remove this item for ever?")):
            assert words in (await client.get(f"/items/{pack.item_id}/{what}")).text
    assert await pack.column("list_states") == []
