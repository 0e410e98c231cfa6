"""Signing an account in and following its channels: by command, page and API alike."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import uuid4

import httpx
from series_pages import raw
from webworld import ORIGIN, WebWorld, form_token, post

from headgate.testing.platform.login import CODE

API = "/api/v1/accounts"


async def begin(client: httpx.AsyncClient, **fields: str) -> str:
    """Choose the platform on its page, and return the page of the first step."""
    # An account in long use may call at once; a new one would be made to wait on a clock that stands still.
    answer = await post(client, "/accounts/add", platform="simulated", established="true", **fields)
    assert answer.status_code == 303
    return answer.headers["location"]


async def call(client: httpx.AsyncClient, method: str, path: str, **body: Any) -> Any:
    headers = {"x-csrf-token": await form_token(client), "origin": ORIGIN}
    answer = await client.request(method, API + path, json=body or None, headers=headers)
    return answer.json() if answer.content else None


async def poll(client: httpx.AsyncClient, path: str, seen: str = "") -> httpx.Response:
    token = await form_token(client)
    headers = {"hx-request": "true", "origin": ORIGIN}
    return await client.post(path, data={"csrf_token": token, "seen": seen}, headers=headers)


def seen_in(page: str) -> str:
    found = re.search(r'name="seen" value="(\w+)"', page)
    assert found is not None
    return found[1]


async def test_a_page_signs_in_without_scripts_and_leads_to_the_channels(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    world.platform.add_stream("attic", title="Attic finds")
    async with world.signed_in() as client:
        path = await begin(client, name="atlas")
        assert "Code that was sent to atlas" in (await client.get(path)).text
        wrong = await post(client, path, **{"answer-code": "0"})
        assert wrong.status_code == 422
        assert "the code is wrong" in wrong.text
        done = await post(client, path, **{"answer-code": CODE})
        channels = done.headers["location"]
        assert "Attic finds" in (await client.get(channels)).text
        assert "Nothing is selected" in (await post(client, channels)).text
        assert (await post(client, channels, key="attic")).headers["location"] == "/channels"
        # The page of a login that has ended leads on as well.
        assert (await client.get(path)).headers["location"] == channels
    assert [row["title"] for row in await raw(world, "select title from channel")] == ["Attic finds"]


async def test_a_page_shows_a_qr_code_that_the_page_renews_and_that_moves_on(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    async with world.signed_in() as client:
        path = await begin(client, name="atlas")
        await post(client, path, action="qr")
        page = (await client.get(path)).text
        assert "<svg" in page
        assert 'hx-trigger="every 2s"' in page
        world.real_clock.advance(2)
        assert (await poll(client, path, seen_in(page))).status_code == 204
        world.clock.advance(31)
        world.real_clock.advance(2)
        renewed = await poll(client, path, seen_in(page))
        assert renewed.status_code == 200
        assert seen_in(renewed.text) != seen_in(page)
        world.platform.scanned_codes.add("simulated://login/atlas/2")
        world.real_clock.advance(2)
        moved = await poll(client, path, seen_in(renewed.text))
    (account,) = await raw(world, "select id from account")
    assert moved.headers["hx-redirect"] == f"/accounts/{account['id']}/channels"


async def test_the_continue_button_does_what_the_poll_does(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    async with world.signed_in() as client:
        path = await begin(client, name="atlas")
        await post(client, path, action="qr")
        world.platform.scanned_codes.add("simulated://login/atlas/1")
        world.real_clock.advance(2)
        assert (await post(client, path)).headers["location"].endswith("/channels")


async def test_a_program_signs_in_by_the_same_steps(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    world.platform.add_stream("attic")
    async with world.signed_in() as client:
        login = await call(client, "POST", "/logins", platform="simulated", established=True)
        assert [one["name"] for one in login["questions"]] == ["account"]
        at = f"/logins/{login['id']}"
        login = await call(client, "POST", at, answers={"account": "atlas"})
        assert [one["name"] for one in login["actions"]] == ["resend", "qr"]
        assert login["ask_again_s"] is None
        login = await call(client, "POST", at, action="qr")
        assert login["state"] == "waits"
        assert login["shown"]["kind"] == "qr"
        assert 0 < login["ask_again_s"] <= 2
        world.platform.scanned_codes.add(login["shown"]["value"])
        world.real_clock.advance(2)
        login = await call(client, "POST", at, answers={})
        assert login["state"] == "signed_in"
        account = f"/{login['account_id']}/channels"
        (seen,) = (await call(client, "GET", account))["channels"]
        assert (seen["key"], seen["followed"]) == ("attic", False)
        assert len((await call(client, "POST", account, channels=["attic"]))["streams"]) == 1
        again = await call(client, "POST", "/logins", account_id=login["account_id"])
        assert again["name"] == "atlas"
        await call(client, "DELETE", f"/logins/{again['id']}")
        assert "Start it again" in (await call(client, "GET", f"/logins/{again['id']}"))["detail"]


async def test_only_administrators_sign_accounts_in(world: WebWorld) -> None:
    async with world.signed_in("bea", role="member") as client:
        paths = ("/accounts/add", f"/accounts/logins/{uuid4()}", f"/accounts/{uuid4()}/channels")
        assert [(await client.get(path)).status_code for path in paths] == [403] * 3
        assert "Add an account" not in (await client.get("/accounts")).text
        assert "Add channels" not in (await client.get("/channels")).text


async def test_an_account_that_must_sign_in_again_has_a_button_for_it(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    async with world.signed_in() as client:
        await post(client, await begin(client, name="atlas"), **{"answer-code": CODE})
        (account,) = await raw(world, "update account set state = 'needs_login' returning id")
        path = f"/accounts/{account['id']}/login"
        assert path in (await client.get("/accounts")).text
        step = (await post(client, path)).headers["location"]
        await post(client, step, **{"answer-code": CODE})
    assert [row["state"] for row in await raw(world, "select state from account")] == ["active"]


async def test_platforms_without_logins_are_not_offered(world: WebWorld) -> None:
    async with world.signed_in() as client:
        page = unescape((await client.get("/accounts/add")).text)
        assert "Simulated platform" in page
        refused = await post(client, "/accounts/add", platform="fax")
        assert "There is no connector for the platform 'fax'" in unescape(refused.text)


async def test_channels_cannot_be_added_without_an_account(world: WebWorld) -> None:
    world.platform.add_account("atlas")
    async with world.signed_in() as client:
        assert (await client.get("/channels/add")).headers["location"] == "/accounts/add"
        await post(client, await begin(client, name="atlas"), **{"answer-code": CODE})
        assert (await client.get("/channels/add")).headers["location"].endswith("/channels")
