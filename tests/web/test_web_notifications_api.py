"""The API of follows, notifications, quiet hours and push addresses: everybody's own, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from programs import program
from receiver import Receiver, receiving
from series_stage import API, SeriesStage, get_json, get_pages
from webworld import START, WebWorld


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


async def user_of(client: httpx.AsyncClient, world: WebWorld) -> UUID:
    name = (await get_json(client, "/me"))["name"]
    async with world.database.transaction() as tx:
        return (await tx.raw("select id from app_user where name = $1", [name]))[0]["id"]


async def tell(world: WebWorld, user_id: UUID, *titles: str) -> None:
    """Put notifications into a user's list, a minute apart."""
    async with world.database.transaction() as tx:
        for minute, title in enumerate(titles):
            await tx.raw(
                "insert into notification (id, user_id, subject, title, body, url, at, in_app, push)"
                " values ($1, $2, $3, $3, '', '', $4, true, false)",
                [uuid4(), user_id, title, START + timedelta(minutes=minute)],
            )


async def test_series_channels_and_searches_are_followed(stage: SeriesStage) -> None:
    async with program(stage.web) as client:
        series_id = await stage.add(client, "op", "One Piece", "1")
        channel_id = str(await stage.web.add_channel("Field recordings"))
        wishes = [
            {"series_id": series_id, "per": "source", "languages": ["EN", "pt_br"]},
            {"channel_id": channel_id, "push": False},
            {"search": "Blue  Moon"},
        ]
        made = [(await client.post(f"{API}/follows", json=wish)).json() for wish in wishes]
        assert made[0]["languages"] == ["en", "pt-br"]
        shown = await get_pages(client, "/follows", what="follows", place="after", limit=2)
        assert {one["id"] for one in shown} == {one["id"] for one in made}
        assert [one["title"] for one in shown] == sorted((one["title"] for one in made), key=str.lower)
        changed = await client.patch(f"{API}/follows/{made[0]['id']}", json={"in_app": False})
        assert (changed.json()["in_app"], changed.json()["push"], changed.json()["per"]) == (
            False,
            True,
            "source",
        )
        nothing = await client.patch(f"{API}/follows/{made[0]['id']}", json={"push": False})
        assert (nothing.status_code, "nothing to notify" in nothing.json()["detail"]) == (422, True)
        assert (await client.delete(f"{API}/follows/{made[0]['id']}")).status_code == 204
        assert (await client.delete(f"{API}/follows/{made[0]['id']}")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"search": " "},
        {"search": "a\x00"},
        {"series_id": str(uuid4())},
        {"search": "a", "languages": ["!"]},
    ],
)
async def test_a_follow_of_nothing_is_refused(world: WebWorld, body: dict[str, Any]) -> None:
    async with program(world) as client:
        assert (await client.post(f"{API}/follows", json=body)).status_code == 422


async def test_notifications_come_in_pages_and_are_noted_as_read(world: WebWorld) -> None:
    async with program(world) as client:
        await tell(world, await user_of(client, world), "one", "two", "three", "four")
        shown = await get_pages(client, "/notifications", what="notifications", place="before", limit=3)
        assert [one["title"] for one in shown] == ["four", "three", "two", "one"]
        assert await get_json(client, "/notifications/unread") == {"count": 4, "text": "4"}
        assert (await client.post(f"{API}/notifications/{shown[0]['id']}/read")).status_code == 204
        assert (await client.post(f"{API}/notifications/{shown[0]['id']}/read")).status_code == 204
        marked = await client.post(f"{API}/notifications/read", json={"until": shown[2]["at"]})
        assert marked.json() == {"marked": 2}
        left = await get_json(client, "/notifications", unread=True)
        assert ([one["title"] for one in left["notifications"]], left["unread"]["count"]) == (["three"], 1)
        world.clock.advance(3600)
        assert (await client.post(f"{API}/notifications/read")).json() == {"marked": 1}


async def test_quiet_hours_are_kept_and_checked(world: WebWorld) -> None:
    path = f"{API}/notification-settings"
    async with program(world) as client:
        assert (await client.get(path)).json() == {"time_zone": "UTC", "quiet_from": None, "quiet_to": None}
        wish = {"time_zone": "Europe/Madrid", "quiet_from": "22:30", "quiet_to": "07:00"}
        assert (await client.put(path, json=wish)).json() == wish
        assert (await client.get(path)).json() == wish
        for bad in ({"time_zone": "Mars"}, {"quiet_to": None}, {"quiet_from": "25:00"}):
            assert (await client.put(path, json=wish | bad)).status_code == 422


async def test_an_address_is_added_tested_and_never_shown(world: WebWorld, receiver: Receiver) -> None:
    path = f"{API}/push-addresses"
    async with program(world, "admin") as client:
        made = await client.post(path, json={"name": "Phone", "url": receiver.url})
        assert made.status_code == 201, made.text
        one = f"{path}/{made.json()['id']}"
        tested = await client.post(f"{one}/test")
        assert (tested.json(), len(receiver.taken)) == ({"state": "sent", "error": ""}, 1)
        receiver.answers = [500]
        failed = (await client.post(f"{one}/test")).json()
        assert (failed["state"], bool(failed["error"])) == ("failed", True)
        changed = (await client.patch(one, json={"name": "Watch", "enabled": False})).json()
        assert (changed["name"], changed["enabled"], changed["shown"]) == (
            "Watch",
            False,
            "JSON (json://•••)",
        )
        listed = await client.get(path)
        assert (await client.get(f"{one}/pushes")).json() == {"pushes": [], "next": None}
        everything = made.text + listed.text + str(failed) + str(changed)
        assert "token-4711" not in everything
        assert "secret-word" not in everything
        assert (await client.delete(one)).status_code == 204
        assert (await client.get(one)).status_code == 404


async def test_failed_pushes_are_listed_and_repeated(world: WebWorld, receiver: Receiver) -> None:
    async with program(world, "admin") as client:
        made = await client.post(f"{API}/push-addresses", json={"name": "Phone", "url": receiver.url})
        await tell(world, await user_of(client, world), "News")
        one, pushes = f"{API}/push-addresses/{made.json()['id']}", [uuid4(), uuid4(), uuid4()]
        async with world.database.transaction() as tx:
            for minute, push_id in enumerate(pushes):
                await tx.raw(
                    "insert into push (id, address_id, state, title, body, notifications, attempts, made_at)"
                    " values ($1, $2, 'failed', 'News', '', 1, 5, $3)",
                    [push_id, UUID(made.json()["id"]), START + timedelta(minutes=minute)],
                )
            await tx.raw(
                "insert into push_notification (address_id, notification_id, push_id)"
                " select $1, id, $2 from notification",
                [UUID(made.json()["id"]), pushes[0]],
            )
        path = one.removeprefix(API) + "/pushes"
        shown = await get_pages(client, path, what="pushes", place="before", limit=2)
        assert [one["id"] for one in shown] == [str(push_id) for push_id in reversed(pushes)]
        assert (await client.post(f"{API}{path}/{pushes[0]}/repeat")).status_code == 204
        assert (await client.post(f"{API}{path}/{pushes[0]}/repeat")).status_code == 422


async def test_members_push_neither_to_this_machine_nor_into_its_network(world: WebWorld) -> None:
    path = f"{API}/push-addresses"
    async with program(world, role="member") as member, program(world, "admin") as admin:
        for number, url in enumerate(["syslog://", "json://127.0.0.1/x", "json://nas/x"]):
            wish = {"name": f"N{number}", "url": url}
            refused = await member.post(path, json=wish)
            assert (refused.status_code, "administrators" in refused.json()["detail"]) == (422, True)
            assert (await admin.post(path, json=wish)).status_code == 201


async def test_nobody_sees_or_changes_what_is_anothers(world: WebWorld, receiver: Receiver) -> None:
    async with program(world, "admin") as ada, program(world, "admin", name="bob") as bob:
        await tell(world, await user_of(ada, world), "for ada")
        address = (await ada.post(f"{API}/push-addresses", json={"name": "P", "url": receiver.url})).json()[
            "id"
        ]
        follow = (await ada.post(f"{API}/follows", json={"search": "moon"})).json()["id"]
        await ada.put(f"{API}/notification-settings", json={"time_zone": "Europe/Madrid"})
        told = (await get_json(ada, "/notifications"))["notifications"][0]["id"]

        assert (await get_json(bob, "/push-addresses"))["addresses"] == []
        assert (await get_json(bob, "/follows"))["follows"] == []
        assert (await get_json(bob, "/notifications"))["notifications"] == []
        assert (await get_json(bob, "/notification-settings"))["time_zone"] == "UTC"
        for method, path in (
            ("GET", f"/push-addresses/{address}"),
            ("PATCH", f"/push-addresses/{address}"),
            ("DELETE", f"/push-addresses/{address}"),
            ("POST", f"/push-addresses/{address}/test"),
            ("GET", f"/push-addresses/{address}/pushes"),
            ("POST", f"/push-addresses/{address}/pushes/{uuid4()}/repeat"),
            ("PATCH", f"/follows/{follow}"),
            ("DELETE", f"/follows/{follow}"),
            ("POST", f"/notifications/{told}/read"),
        ):
            body = {"enabled": False} if method == "PATCH" else None
            answer = await bob.request(method, API + path, json=body)
            assert answer.status_code == 404, f"{method} {path}"
        assert (await bob.post(f"{API}/notifications/read")).json() == {"marked": 0}
        assert (await get_json(ada, "/notifications/unread"))["count"] == 1
        assert receiver.calls == 0


async def test_a_token_that_may_only_read_changes_nothing(world: WebWorld) -> None:
    async with program(world, "read") as client:
        for method, path in (
            ("POST", "/series"),
            ("POST", "/feeds"),
            ("POST", "/opml"),
            ("POST", "/follows"),
            ("PUT", "/notification-settings"),
            ("POST", "/push-addresses"),
            ("GET", "/series/find?platform=feeds&q=x"),
        ):
            assert (await client.request(method, API + path)).status_code == 403, path
