"""What people were told, how they are told, and where it goes out to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from outflow_pages import text_of
from receiver import Receiver, receiving
from series_pages import add_series, raw, tell, user_id_of
from webworld import ORIGIN, START, WebWorld, form_token, post, sign_in

HOME = "/account/notifications"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


async def test_an_empty_list_says_what_to_do(world: WebWorld) -> None:
    async with world.signed_in() as client:
        page = await client.get("/notifications")
        unread = await client.get("/notifications?unread=true")
    assert "No notifications yet" in page.text
    assert 'aria-label="Notifications"' in page.text
    assert "All read" in unread.text


async def test_notifications_are_grouped_by_the_days_of_the_reader(world: WebWorld) -> None:
    async with world.signed_in() as client:
        user_id = await user_id_of(world)
        await post(client, f"{HOME}/hours", zone="Pacific/Auckland")
        for title, hours in (("Noon", 0), ("Morning", 1), ("The day before", 13), ("Last year", 24 * 200)):
            await tell(world, user_id, title, at=START - timedelta(hours=hours))
        text = text_of(await client.get("/notifications"))
    # Noon in UTC is midnight in Auckland: only it is of today there.
    assert re.search(
        r"Today .*Noon.* Yesterday .*Morning.*The day before.*, \d+ October 2025 .*Last year", text
    )


async def test_one_is_read_by_following_it_and_all_by_a_button(world: WebWorld) -> None:
    async with world.signed_in() as client:
        user_id = await user_id_of(world)
        told = [await tell(world, user_id, f"Told {n}", url="https://example.org/1") for n in range(3)]
        bell = await client.get("/notifications/bell")
        assert 'aria-label="Notifications, 3 unread"' in bell.text
        gone = await client.get(f"/notifications/{told[0]}")
        assert (gone.status_code, gone.headers["location"]) == (303, "https://example.org/1")
        read = await post(client, f"/notifications/{told[1]}/read", back="/notifications?unread=true")
        assert read.headers["location"] == "/notifications?unread=true"
        page = await client.get("/notifications?unread=true")
        assert 'aria-label="Notifications, 1 unread"' in page.text
        assert page.text.count("data-row") == 1
        later = await tell(world, user_id, "Later", at=START + timedelta(minutes=1))
        await post(client, "/notifications/read", until=START.isoformat())
        assert text_of(await client.get("/notifications?unread=true")).count("Mark as read Later") == 1
        assert str(later) in (await client.get("/notifications?unread=true")).text
        assert (await post(client, "/notifications/read", until="2026-05-04")).status_code == 422


async def test_a_notification_never_leads_to_a_script_nor_to_anybody_else(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater")
    async with world.signed_in() as client:
        user_id = await user_id_of(world)
        trap = await tell(world, user_id, "Trap", url="javascript:alert(1)", series_id=made.series_id)
        assert (await client.get(f"/notifications/{trap}")).headers["location"] == made.path
        await world.add_user("bob")
        foreign = await tell(world, await user_id_of(world, "bob"), "Secret")
        assert (await client.get(f"/notifications/{foreign}")).status_code == 404
        assert (await post(client, f"/notifications/{foreign}/read")).status_code == 404
        assert "Secret" not in (await client.get("/notifications")).text
        assert (await client.get(f"/notifications/{uuid4()}")).status_code == 404


async def test_many_notifications_come_in_pages(world: WebWorld) -> None:
    async with world.signed_in() as client:
        user_id = await user_id_of(world)
        for number in range(52):
            await tell(world, user_id, f"Told {number}", at=START - timedelta(minutes=number))
        first = await client.get("/notifications")
        older = re.search(r'href="([^"]+)">Older notifications', first.text)
        assert older is not None
        second = await client.get(older[1])
    assert (first.text.count("data-row"), second.text.count("data-row")) == (50, 2)
    assert "Mark all as read" not in second.text


async def test_quiet_hours_are_kept_and_faults_lose_nothing(world: WebWorld) -> None:
    async with world.signed_in() as client:
        saved = await post(client, f"{HOME}/hours", zone="Asia/Tokyo", quiet_from="22:00", quiet_to="07:30")
        assert "Saved." in saved.text
        page = await client.get(HOME)
        assert 'name="zone" value="Asia/Tokyo"' in page.text
        assert 'name="quiet_to" value="07:30"' in page.text
        half = await post(client, f"{HOME}/hours", zone="Asia/Tokyo", quiet_from="21:00")
        assert half.status_code == 422
        assert "Quiet hours need a start and an end." in half.text
        assert 'name="quiet_from" value="21:00"' in half.text
        for fields in ({"zone": "Mars/Base"}, {"zone": "UTC", "quiet_from": "25:00", "quiet_to": "1:00"}):
            assert (await post(client, f"{HOME}/hours", **fields)).status_code == 422


async def _address_id(world: WebWorld) -> UUID:
    return (await raw(world, "select id from push_address"))[0]["id"]


async def test_an_address_is_added_tested_switched_renamed_and_removed(
    world: WebWorld, receiver: Receiver
) -> None:
    async with world.signed_in() as client:
        added = await post(client, "/account/addresses", name="My phone", url=receiver.url)
        assert "Added. Send a test to see that it works." in added.text
        page = await client.get(HOME)
        assert "secret-word" not in page.text
        assert "token-4711" not in page.text
        path = f"/account/addresses/{await _address_id(world)}"
        assert "Test sent." in (await post(client, f"{path}/test")).text
        assert receiver.texts == ["Headgate\nThis is a test. Notifications will arrive here."]
        receiver.answers.append(500)
        failed = await post(client, f"{path}/test")
        assert (failed.status_code, "The test was not sent: " in failed.text) == (422, True)
        assert (await post(client, f"{path}/switch", enabled="false")).status_code == 303
        assert "Switch on My phone" in text_of(await client.get(HOME))
        await post(client, f"{path}/rename", name="Old phone")
        assert "<h1>Old phone</h1>" in (await client.get(path)).text
        assert "Remove this address?" in (await client.get(f"{path}/remove")).text
        await post(client, f"{path}/remove")
        assert "No addresses yet" in (await client.get(HOME)).text
        assert (await client.get(path)).status_code == 404


async def test_what_is_no_address_is_said_beside_it(world: WebWorld, receiver: Receiver) -> None:
    async with world.signed_in() as client:
        wrong = await post(client, "/account/addresses", name="My phone", url="not a push address")
        assert wrong.status_code == 422
        assert 'value="not a push address"' in wrong.text
        await post(client, "/account/addresses", name="My phone", url=receiver.url)
        taken = await post(client, "/account/addresses", name="my phone", url=receiver.url)
        assert "already" in text_of(taken)


async def test_what_went_out_is_listed_and_what_failed_sent_again(
    world: WebWorld, receiver: Receiver
) -> None:
    async with world.signed_in() as client:
        await post(client, "/account/addresses", name="My phone", url=receiver.url)
        address_id, push_id = await _address_id(world), uuid4()
        told = await tell(world, await user_id_of(world), "Tidewater")
        path = f"/account/addresses/{address_id}"
        assert "Nothing sent yet" in (await client.get(path)).text
        await raw(
            world,
            "insert into push"
            " (id, address_id, state, title, body, notifications, attempts, made_at, ended_at, error)"
            " values ($1, $2, 'failed', 'Tidewater', 'Chapter 7', 1, 5, $3, $3, 'no answer')",
            push_id,
            address_id,
            START,
        )
        await raw(
            world,
            "insert into push_notification (address_id, notification_id, push_id) values ($1, $2, $3)",
            address_id,
            told,
            push_id,
        )
        page = await client.get(path)
        assert "Tidewater Chapter 7 no answer failed 5" in text_of(page)
        assert (await post(client, f"{path}/repeat", push=str(push_id))).status_code == 303
        assert ">pending<" in (await client.get(path)).text
        again = await post(client, f"{path}/repeat", push=str(push_id))
        assert "This cannot be sent again." in again.text


async def test_addresses_of_others_are_not_there(world: WebWorld, receiver: Receiver) -> None:
    async with world.signed_in() as client:
        await post(client, "/account/addresses", name="Secret phone", url=receiver.url)
    path = f"/account/addresses/{await _address_id(world)}"
    await world.add_user("bob")
    async with world.client() as other:
        await sign_in(other, "bob")
        assert "Secret phone" not in (await other.get(HOME)).text
        assert (await other.get(path)).status_code == 404
        token = await form_token(other)
        for action in ("test", "switch", "rename", "remove", "repeat"):
            fields = {"csrf_token": token, "enabled": "false", "name": "Mine", "push": str(uuid4())}
            answer = await other.post(f"{path}/{action}", data=fields, headers={"origin": ORIGIN})
            assert answer.status_code == 404, action
    assert receiver.calls == 0


async def test_follows_are_listed_switched_and_ended(world: WebWorld) -> None:
    made = await add_series(world, "Tidewater", "1")
    async with world.signed_in() as client:
        await post(client, f"{made.path}/follow")
        await post(client, f"/channels/{made.channel_id}/follow")
        words = await post(client, "/account/follows", search="Lighthouse  CAT")
        assert words.headers["location"] == f"{HOME}#follows"
        text = text_of(await client.get(HOME))
        assert re.search(r"words “lighthouse cat” .* series Tidewater .* channel Tidewater on the site", text)
        assert (await post(client, "/account/follows", search=" – ")).status_code == 422
        found = await raw(world, "select id from follow where series_id is not null")
        path = f"/account/follows/{found[0]['id']}"
        assert "Saved." in (await post(client, path, push="true", per="source", languages="EN")).text
        assert 'name="languages" value="en, pt-br"' not in (await client.get(made.path)).text
        assert 'name="languages" value="en"' in (await client.get(made.path)).text
        refused = await post(client, path, per="chapter")
        assert "Without the list and without push there is nothing to notify." in refused.text
        await post(client, f"{path}/end")
        assert "On for 1 source only." in (await client.get(made.path)).text
        await post(client, f"/channels/{made.channel_id}/unfollow")
        assert "Off. Press" in (await client.get(made.path)).text


async def test_many_follows_come_in_pages(world: WebWorld) -> None:
    async with world.signed_in() as client:
        user_id = await user_id_of(world)
        await raw(
            world,
            "insert into follow (id, user_id, search, since) select gen_random_uuid(), $1, 'word ' || n, $2"
            " from generate_series(10, 64) as n",
            user_id,
            START,
        )
        first = await client.get(HOME)
        more = re.search(r'href="([^"#]+)#follows">More', first.text)
        assert more is not None
        second = await client.get(more[1])
    assert (first.text.count("data-row"), second.text.count("data-row")) == (50, 5)
