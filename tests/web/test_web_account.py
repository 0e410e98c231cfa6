"""Password, sign-ins and tokens of a person."""

from __future__ import annotations

import asyncio
import json
import re
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result
from webworld import ORIGIN, PASSWORD, WebWorld, form_token, post, sign_in

from headgate.cli.main import app
from headgate.storage.access.api_tokens import Scope
from headgate.storage.access.users import Role
from headgate.storage.queries import QueryFile
from headgate.web.callers import Caller, scopes_of

NEW = "another fine password"

Q = QueryFile("demote", "-- name: demote\nupdate app_user set role = 'member'")


async def test_a_new_password_ends_all_other_sign_ins(world: WebWorld) -> None:
    async with world.signed_in() as client, world.client() as other:
        await sign_in(other)
        answer = await post(client, "/account/password", current=PASSWORD, password=NEW, again=NEW)
        assert answer.status_code == 303
        assert (await client.get("/")).status_code == 200
        assert (await other.get("/")).status_code == 303
        assert (await sign_in(other)).status_code == 401
        assert (await sign_in(other, password=NEW)).status_code == 303


@pytest.mark.parametrize(
    ("current", "password", "again"),
    [("wrong", NEW, NEW), (PASSWORD, NEW, "other"), (PASSWORD, "short", "short")],
)
async def test_a_password_change_that_will_not_do_changes_nothing(
    world: WebWorld, current: str, password: str, again: str
) -> None:
    async with world.signed_in() as client:
        answer = await post(client, "/account/password", current=current, password=password, again=again)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert (await sign_in(client)).status_code == 303


async def test_guessing_the_current_password_is_slowed_down_too(world: WebWorld) -> None:
    async with world.signed_in() as client:
        answers = [
            await post(client, "/account/password", current="a guess", password=NEW, again=NEW)
            for _ in range(8)
        ]
    assert "Too many attempts" in answers[-1].text


async def test_sign_ins_are_listed_and_ended(world: WebWorld) -> None:
    async with world.signed_in() as client, world.client() as other:
        await sign_in(other)
        page = (await client.get("/account")).text
        ends = re.findall(r'action="(/account/sessions/[0-9a-f-]{36}/end)"', page)
        assert len(ends) == 1
        assert (await post(client, ends[0])).status_code == 303
        assert (await other.get("/")).status_code == 303
        assert (await post(client, ends[0])).status_code == 404


async def test_one_can_sign_out_everywhere_else(world: WebWorld) -> None:
    async with world.signed_in() as client, world.client() as other:
        await sign_in(other)
        await post(client, "/account/sessions/end")
        assert (await other.get("/")).status_code == 303
        assert (await client.get("/")).status_code == 200


async def test_nobody_ends_the_sign_ins_of_others(world: WebWorld) -> None:
    async with (
        world.signed_in("ada") as ada,
        world.signed_in("eve", "member") as eve,
        world.client() as other,
    ):
        await sign_in(other, "ada")
        end = re.search(r'action="(/account/sessions/[0-9a-f-]{36}/end)"', (await ada.get("/account")).text)
        assert end is not None
        assert (await post(eve, end[1])).status_code == 404
        assert (await other.get("/")).status_code == 200


async def make_token(world: WebWorld, name: str, role: str, scope: str) -> str:
    async with world.signed_in(name, "admin" if role == "admin" else "member") as client:
        page = (await post(client, "/account/tokens", name="backup", scope=scope)).text
        found = re.search(r'id="fresh-token">(hg_[\w-]+)<', page)
        assert found is not None
        assert found[1] not in (await client.get("/account")).text
    return found[1]


async def test_a_token_opens_the_api_without_form_tokens(world: WebWorld) -> None:
    token = await make_token(world, "ada", "admin", "admin")
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert (await client.get("/api/v1/me")).json() == {
            "name": "ada",
            "role": "admin",
            "scopes": ["admin", "read", "write"],
        }
        made = await client.post("/api/v1/tokens", json={"name": "second", "scopes": ["read"]})
        assert made.status_code == 201
        listed = (await client.get("/api/v1/tokens")).json()["tokens"]
        assert [line["name"] for line in listed] == ["second", "backup"]
        assert listed[1]["last_used_at"] is not None
        assert "token" not in listed[0]
        gone = await client.delete(f"/api/v1/tokens/{made.json()['id']}")
        assert gone.status_code == 204
        assert (await client.delete(f"/api/v1/tokens/{uuid4()}")).status_code == 404
        client.headers["authorization"] = f"Bearer {made.json()['token']}"
        assert (await client.get("/api/v1/me")).status_code == 401


async def test_a_token_does_no_more_than_it_was_made_for(world: WebWorld) -> None:
    token = await make_token(world, "ada", "admin", "read")
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert (await client.get("/api/v1/items")).status_code == 200
        assert (await client.get("/metrics")).status_code == 200
        made = await client.post("/api/v1/tokens", json={"name": "more", "scopes": ["read"]})
        assert made.status_code == 403
        assert (await client.get("/account")).status_code == 303


@pytest.mark.parametrize("url", ["syslog://", "json://127.0.0.1:9/x", "json://localhost/x"])
async def test_a_lesser_token_of_an_administrator_acts_as_a_member(world: WebWorld, url: str) -> None:
    token = await make_token(world, "ada", "admin", "write")
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert (await client.get("/api/v1/me")).json()["role"] == "member"
        added = await client.post("/api/v1/push-addresses", json={"name": "log", "url": url})
        assert added.status_code == 422
        assert "only administrators" in added.json()["detail"]


def test_only_the_caller_decides_which_role_a_token_acts_with() -> None:
    def acting(role: Role, *granted: Scope) -> Role:
        return Caller(uuid4(), "ada", scopes_of(role, list(granted))).role

    assert acting("admin", "admin") == "admin"
    assert acting("admin", "read", "write") == "member"
    assert acting("member", "admin") == "member"


async def test_a_token_expires_when_its_owner_said(world: WebWorld) -> None:
    async with world.signed_in() as client:
        headers = {"origin": ORIGIN, "x-csrf-token": await form_token(client)}
        wish = {"name": "short", "scopes": ["read"], "days": 7}
        short = (await client.post("/api/v1/tokens", json=wish, headers=headers)).json()
        by_default = (
            await client.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=headers)
        ).json()
        for days in (0, 366):
            refused = await client.post("/api/v1/tokens", json=wish | {"days": days}, headers=headers)
            assert refused.status_code == 422
        assert (await post(client, "/account/tokens", name="x", scope="read", days="9999")).status_code == 422

    async def works(token: str) -> bool:
        async with world.client() as program:
            answer = await program.get("/api/v1/me", headers={"authorization": f"Bearer {token}"})
            return answer.status_code == 200

    world.real_clock.advance(7 * 86400 - 1)
    assert await works(short["token"])
    world.real_clock.advance(1)
    assert not await works(short["token"])
    world.real_clock.advance(83 * 86400 - 1)
    assert await works(by_default["token"])
    world.real_clock.advance(1)
    assert not await works(by_default["token"])


async def test_an_expired_token_is_still_listed_until_it_is_revoked(world: WebWorld) -> None:
    async with world.signed_in() as client:
        await post(client, "/account/tokens", name="backup", scope="read", days="7")
        assert "expired" not in (await client.get("/account")).text
        world.real_clock.advance(8 * 86400)
        assert "expired" in (await client.get("/account")).text


@pytest.mark.parametrize(("choice", "status"), [("revoke", 401), ("keep", 200), ("", 401)])
async def test_a_new_password_asks_what_becomes_of_tokens(world: WebWorld, choice: str, status: int) -> None:
    async with world.signed_in() as client, world.client() as program:
        assert 'name="tokens"' not in (await client.get("/account")).text
        page = (await post(client, "/account/tokens", name="backup", scope="read")).text
        assert 'name="tokens"' in page
        found = re.search(r'id="fresh-token">(hg_[\w-]+)<', page)
        assert found is not None
        fields = {"current": PASSWORD, "password": NEW, "again": NEW} | ({"tokens": choice} if choice else {})
        await post(client, "/account/password", **fields)
        answer = await program.get("/api/v1/me", headers={"authorization": f"Bearer {found[1]}"})
        assert answer.status_code == status


async def test_a_program_says_what_becomes_of_tokens_when_it_changes_the_password(world: WebWorld) -> None:
    token = await make_token(world, "ada", "admin", "write")
    path = "/api/v1/me/password"
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        wish = {"current": PASSWORD, "password": NEW}
        assert (await client.put(path, json=wish)).status_code == 422
        assert (
            await client.put(path, json=wish | {"revoke_tokens": False, "current": "x"})
        ).status_code == 403
        weak = wish | {"revoke_tokens": False, "password": "password1234"}
        assert (await client.put(path, json=weak)).status_code == 422
        assert (await client.put(path, json=wish | {"revoke_tokens": False})).status_code == 204
        assert (await client.get("/api/v1/me")).status_code == 200
        again = {"current": NEW, "password": "one more fine password", "revoke_tokens": True}
        assert (await client.put(path, json=again)).status_code == 204
        assert (await client.get("/api/v1/me")).status_code == 401


@pytest.mark.usefixtures("settings_of_commands")
async def test_the_command_lists_tokens_and_revokes_them_with_a_new_password(world: WebWorld) -> None:
    token = await make_token(world, "ada", "admin", "read")

    async def works() -> bool:
        async with world.client() as program:
            answer = await program.get("/api/v1/me", headers={"authorization": f"Bearer {token}"})
            return answer.status_code == 200

    async def user(*arguments: str, typed: str = "") -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["user", *arguments], input=typed)

    assert await works()
    (listed,) = json.loads((await user("tokens", "ada", "--json")).stdout)
    assert (listed["name"], listed["scopes"]) == ("backup", ["read"])
    assert listed["last_used_at"] is not None
    assert token not in (shown := (await user("tokens", "ada")).stdout)
    assert listed["name"] in shown

    change = ("password", "ada", "--password-stdin")
    undecided = await user(*change, typed=f"{NEW}\n")
    assert undecided.exit_code == 1
    assert "--revoke-tokens" in undecided.stderr
    kept = await user(*change, "--keep-tokens", typed=f"{NEW}\n")
    assert "still work" in kept.stdout, kept.stderr
    assert await works()
    revoked = await user(*change, "--revoke-tokens", typed="one more fine password\n")
    assert "are revoked" in revoked.stdout, revoked.stderr
    assert not await works()
    assert "has no API tokens" in (await user("tokens", "ada")).stdout


async def test_a_member_cannot_make_a_token_for_administrators(world: WebWorld) -> None:
    async with world.signed_in(role="member") as client:
        assert (await post(client, "/account/tokens", name="x", scope="admin")).status_code == 403
        assert (await post(client, "/account/tokens", name="x", scope="nonsense")).status_code == 422


async def test_a_token_loses_what_its_owner_loses(world: WebWorld) -> None:
    token = await make_token(world, "ada", "admin", "admin")
    async with world.database.transaction() as tx:
        await tx.execute(Q["demote"])
    async with world.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        assert (await client.get("/api/v1/me")).json()["scopes"] == ["read", "write"]


def test_wider_scopes_include_narrower_ones() -> None:
    assert scopes_of("admin", ["write"]) == {"read", "write"}
    assert scopes_of("member", ["admin"]) == {"read", "write"}


async def test_a_person_can_use_the_api_from_our_pages(world: WebWorld) -> None:
    async with world.signed_in() as client:
        headers = {"origin": ORIGIN, "x-csrf-token": await form_token(client)}
        wish = {"name": "from a page", "scopes": ["read"]}
        assert (await client.post("/api/v1/tokens", json=wish, headers=headers)).status_code == 201


async def test_a_form_token_is_of_one_session_alone(world: WebWorld) -> None:
    async with world.signed_in() as client, world.client() as other:
        await sign_in(other)
        answer = await client.post(
            "/logout", data={"csrf_token": await form_token(other)}, headers={"origin": ORIGIN}
        )
    assert answer.status_code == 403
