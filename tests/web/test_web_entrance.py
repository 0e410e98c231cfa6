"""Coming in and going out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import httpx
import pytest
from argon2 import PasswordHasher
from webworld import ORIGIN, PASSWORD, WebWorld, form_token, make_world, post, sign_in

from headgate.access.passwords import Passwords
from headgate.domain.errors import UserError
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import WebSettings
from headgate.storage.access import users
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile
from headgate.web import create_entry_link, create_setup_link

Q = QueryFile(
    "looks",
    """
-- name: session_bytes
select token_hash from user_session

-- name: password_hash
select password_hash from app_user where name = %(name)s
""",
)


async def test_a_sign_in_opens_the_library(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        answer = await sign_in(client)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await client.get("/")).status_code == 200


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        cookie = (await sign_in(client)).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie


async def test_the_cookie_is_secure_behind_https(database: Database, tmp_path: Path) -> None:
    world = make_world(database, tmp_path, settings=WebSettings(public_url="https://gate.example"))
    await world.add_user()
    async with world.client(base_url="https://gate.example") as client:
        answer = await client.post(
            "/login",
            data={"name": "ada", "password": PASSWORD},
            headers={"origin": "https://gate.example"},
        )
    assert answer.status_code == 303
    assert "secure" in answer.headers["set-cookie"].lower()
    assert answer.headers["strict-transport-security"].startswith("max-age=")


async def test_the_database_does_not_know_the_token(world: WebWorld) -> None:
    async with world.signed_in() as client:
        token = client.cookies["headgate_session"]
        async with world.database.transaction() as tx:
            stored = await tx.column(Q["session_bytes"])
    assert len(stored) == 1
    assert token.encode() not in bytes(stored[0])


async def test_a_new_sign_in_ends_the_one_before(world: WebWorld) -> None:
    async with world.signed_in() as client:
        before = client.cookies["headgate_session"]
        await sign_in(client)
        assert client.cookies["headgate_session"] != before
        async with world.client() as thief:
            thief.cookies.set("headgate_session", before)
            assert (await thief.get("/")).status_code == 303


async def test_a_sign_out_ends_the_session_on_the_server(world: WebWorld) -> None:
    async with world.signed_in() as client:
        token = client.cookies["headgate_session"]
        assert (await post(client, "/logout")).headers["location"] == "/login"
        client.cookies.set("headgate_session", token)
        assert (await client.get("/")).status_code == 303


async def test_sessions_expire(world: WebWorld) -> None:
    async with world.signed_in() as client:
        world.real_clock.advance(30 * 86400 - 1)
        assert (await client.get("/")).status_code == 200
        world.real_clock.advance(1)
        assert (await client.get("/")).status_code == 303


async def test_a_fast_demo_does_not_shorten_sessions(world: WebWorld) -> None:
    async with world.signed_in() as client:
        world.clock.advance(365 * 86400)
        assert (await client.get("/")).status_code == 200


async def test_after_signing_in_one_is_where_one_wanted_to_be(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        answer = await client.get("/channels?after=x")
        assert answer.headers["location"] == "/login?next=%2Fchannels%3Fafter%3Dx"
        fields = {"name": "ada", "password": PASSWORD, "next": "/channels"}
        assert (await client.post("/login", data=fields)).headers["location"] == "/channels"


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\r\nx: y"]
)
async def test_a_sign_in_never_leads_to_another_site(world: WebWorld, target: str) -> None:
    await world.add_user()
    async with world.client() as client:
        answer = await client.post("/login", data={"name": "ada", "password": PASSWORD, "next": target})
        assert answer.headers["location"] == "/"


async def test_names_are_not_told_apart_from_passwords(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        wrong = await sign_in(client, "ada", "wrong password")
        unknown = await sign_in(client, "eve", "wrong password")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace('"ada"', "") == unknown.text.replace('"eve"', "")


class CountingHasher(PasswordHasher):
    """Notes what it is asked to verify."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=64, parallelism=1)
        self.checked: list[str | bytes] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002
        self.checked.append(password)
        return super().verify(hash, password)


async def test_an_unknown_name_costs_a_verification_too(database: Database, tmp_path: Path) -> None:
    hasher = CountingHasher()
    world = make_world(database, tmp_path, settings=WebSettings(), passwords=Passwords(hasher))
    async with world.client() as client:
        await sign_in(client, "eve", "a guess")
    assert hasher.checked == ["a guess"]


async def test_guessing_is_slowed_down_more_and_more(world: WebWorld) -> None:
    await world.add_user()
    waits: list[int] = []
    async with world.client() as client:
        for _ in range(12):
            answer = await sign_in(client, "ada", "a guess")
            if answer.status_code == 429:
                waits.append(int(answer.headers["retry-after"]))
                world.real_clock.advance(waits[-1])
    assert waits == sorted(waits)
    assert waits[0] == 1
    assert waits[-1] >= 4


async def test_the_right_password_waits_as_well(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        for _ in range(6):
            await sign_in(client, "ada", "a guess")
        assert (await sign_in(client)).status_code == 429
        world.real_clock.advance(60)
        assert (await sign_in(client)).status_code == 303


async def test_strangers_guesses_do_not_lock_a_browser_out_that_signed_in_before(world: WebWorld) -> None:
    async with world.signed_in() as browser, world.client() as stranger:
        await post(browser, "/logout")
        for n in range(30):
            await sign_in(stranger, "ada", f"guess {n}")
        assert (await sign_in(stranger)).status_code == 429
        assert (await sign_in(browser)).status_code == 303


async def test_a_known_browser_cannot_guess_freely_either(world: WebWorld) -> None:
    async with world.signed_in() as browser:
        await post(browser, "/logout")
        answers = [(await sign_in(browser, "ada", f"guess {n}")).status_code for n in range(8)]
        assert answers == [401] * 6 + [429] * 2


async def test_a_browser_is_known_for_its_own_user_alone(world: WebWorld) -> None:
    await world.add_user("eve", "member")
    async with world.signed_in() as browser, world.client() as stranger:
        await post(browser, "/logout")
        for n in range(6):
            await sign_in(stranger, "eve", f"guess {n}")
        assert (await sign_in(browser, "eve")).status_code == 429


async def test_a_new_password_makes_known_browsers_strangers(world: WebWorld) -> None:
    async with world.signed_in() as thief, world.client() as owner:
        await sign_in(owner)
        new = "another fine password"
        await post(owner, "/account/password", current=PASSWORD, password=new, again=new)
        for n in range(6):
            await sign_in(owner, "ada", f"guess {n}")
        await sign_in(thief, "ada", "a guess")
        async with world.client() as stranger:
            for n in range(6):
                await sign_in(stranger, "ada", f"guess {n}")
        assert (await sign_in(thief, "ada", new)).status_code == 429


async def test_another_spelling_of_a_name_gets_no_guesses_of_its_own(world: WebWorld) -> None:
    """PostgreSQL folds a dotted capital I to i, Python to two characters: both spellings mean one user."""
    await world.add_user("adi")
    async with world.client() as client:
        assert (await sign_in(client, "AD\u0130")).status_code == 303
    async with world.client() as client:
        answers = [
            (await sign_in(client, ("adi", "AD\u0130")[n % 2], f"guess {n}")).status_code for n in range(8)
        ]
    assert answers == [401] * 6 + [429] * 2


async def test_guesses_at_the_same_time_do_not_slip_through(world: WebWorld) -> None:
    await world.add_user()
    async with world.client() as client:
        answers = await asyncio.gather(*(sign_in(client, "ada", f"guess {n}") for n in range(20)))
    assert sum(answer.status_code == 401 for answer in answers) == 6


async def test_an_address_that_tries_many_names_is_slowed_down(world: WebWorld) -> None:
    async with world.client() as client:
        answers = [await sign_in(client, f"name {n}", "a guess") for n in range(25)]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429


async def test_another_address_is_not_slowed_down_by_it(world: WebWorld) -> None:
    await world.add_user()
    async with world.client(address="198.51.100.1") as client:
        for n in range(25):
            await sign_in(client, f"name {n}", "a guess")
    async with world.client(address="198.51.100.2") as client:
        assert (await sign_in(client)).status_code == 303


async def test_an_outdated_hash_is_renewed_by_signing_in(world: WebWorld, tmp_path: Path) -> None:
    user = await world.add_user()
    stricter = Passwords(PasswordHasher(time_cost=2, memory_cost=64, parallelism=1))
    later = make_world(world.database, tmp_path, settings=WebSettings(), passwords=stricter)
    async with later.client() as client:
        assert (await sign_in(client)).status_code == 303
    async with world.database.transaction() as tx:
        fresh = await tx.value(Q["password_hash"], name="ada")
    assert fresh != user.password_hash
    assert "t=2" in fresh


async def open_setup(world: WebWorld) -> str:
    path = await create_setup_link(world.database, world.real_clock)
    assert path is not None
    return path


async def set_up(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    form = {"name": "Grace", "password": PASSWORD, "again": PASSWORD, **fields}
    return await client.post(path, data=form, headers={"origin": ORIGIN})


async def test_the_setup_link_makes_the_administrator_and_signs_in(world: WebWorld) -> None:
    path = await open_setup(world)
    async with world.client() as client:
        assert (await client.get(path)).status_code == 200
        assert (await set_up(client, path)).headers["location"] == "/"
        me = (await client.get("/api/v1/me")).json()
    assert (me["name"], me["role"]) == ("Grace", "admin")


async def test_the_setup_link_works_once(world: WebWorld) -> None:
    path = await open_setup(world)
    async with world.client() as client:
        await set_up(client, path)
    async with world.client() as client:
        assert (await client.get(path)).status_code == 404
        assert (await set_up(client, path, name="Eve")).status_code == 404
    assert await create_setup_link(world.database, world.real_clock) is None


async def test_two_setup_forms_at_once_make_one_administrator(world: WebWorld) -> None:
    path = await open_setup(world)
    async with world.client() as client:
        answers = await asyncio.gather(*(set_up(client, path, name=f"user {n}") for n in range(4)))
        async with world.database.transaction() as tx:
            assert await users.count_users(tx) == 1
    assert sorted(answer.status_code for answer in answers) == [303, 404, 404, 404]


async def test_the_setup_link_expires_and_only_the_last_one_works(world: WebWorld) -> None:
    first, second = await open_setup(world), await open_setup(world)
    async with world.client() as client:
        assert (await client.get(first)).status_code == 404
        assert (await client.get(second)).status_code == 200
        world.real_clock.advance(86400)
        assert (await client.get(second)).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"password": "short", "again": "short"},
        {"again": "another password"},
        {"name": " \x00 "},
        {"password": "aaaaaaaaaaaa", "again": "aaaaaaaaaaaa"},
    ],
)
async def test_a_setup_form_that_will_not_do_says_why(world: WebWorld, fields: dict[str, str]) -> None:
    path = await open_setup(world)
    async with world.client() as client:
        answer = await set_up(client, path, **fields)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert (await client.get(path)).status_code == 200


async def test_the_entry_link_shows_the_library_to_a_client_without_cookies(
    database: Database, tmp_path: Path
) -> None:
    plain = make_world(database, tmp_path, settings=WebSettings())
    link = await create_entry_link(database, Ids(plain.real_clock, Randomness(1)), plain.real_clock)
    world = make_world(database, tmp_path, settings=WebSettings(), entry_link=link)
    await world.add_item(await world.add_channel(), "Tidal flats, stereo.flac")
    async with world.client(address="127.0.0.1") as client:
        first = await client.get(link.path)
        assert first.status_code == 200
        assert "Tidal flats, stereo.flac" in first.text
        assert (await client.get("/")).status_code == 200
        assert (await post(client, "/account/sessions/end")).status_code == 303
    async with world.client(address="127.0.0.1") as client:
        assert (await client.get(link.path)).status_code == 200
        assert (await client.get(link.path + "x")).status_code == 404
    async with world.client(address="203.0.113.7") as client:
        assert (await client.get(link.path)).status_code == 404
    async with world.client(address="127.0.0.1") as client:
        forwarded = await client.get(link.path, headers={"x-forwarded-for": "203.0.113.7"})
        assert forwarded.status_code == 404


async def test_the_entry_link_never_lets_in_as_somebody_else(database: Database, tmp_path: Path) -> None:
    plain = make_world(database, tmp_path, settings=WebSettings())
    await plain.add_user(name="demo")
    with pytest.raises(UserError, match="not created by the demo"):
        await create_entry_link(database, Ids(plain.real_clock, Randomness(1)), plain.real_clock)


async def test_the_demo_finds_its_own_user_again(database: Database, tmp_path: Path) -> None:
    clock = make_world(database, tmp_path, settings=WebSettings()).real_clock
    ids = Ids(clock, Randomness(1))
    first = await create_entry_link(database, ids, clock)
    second = await create_entry_link(database, ids, clock)
    assert first.user_id == second.user_id
    assert first.token != second.token


async def test_the_entry_link_opens_one_session_a_browser(database: Database, tmp_path: Path) -> None:
    plain = make_world(database, tmp_path, settings=WebSettings())
    link = await create_entry_link(database, Ids(plain.real_clock, Randomness(1)), plain.real_clock)
    world = make_world(database, tmp_path, settings=WebSettings(), entry_link=link)
    async with world.client(address="127.0.0.1") as client:
        await client.get(link.path)
        token = await form_token(client)
        await client.get(link.path)
        assert await form_token(client) == token


async def test_without_users_the_sign_in_says_where_to_begin(world: WebWorld) -> None:
    async with world.client() as client:
        assert "There is no administrator yet" in (await client.get("/login")).text
        await world.add_user()
        assert "There is no administrator yet" not in (await client.get("/login")).text
