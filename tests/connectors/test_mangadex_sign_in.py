"""Signing in to MangaDex: what is asked, what is kept, and how a token lives on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from mangadex_server import MangaDexServer, Person
from mangadex_stage import answers_of, error_of, sign_in

from headgate.connectors.login_steps import Ask, LoginAttempt, SignedIn
from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.protocol import Link
from headgate.domain.errors import AuthFailed, RateLimited, Transient
from headgate.kernel.clock import VirtualClock
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once

TOKEN = "/realms/mangadex/protocol/openid-connect/token"


@pytest.fixture
def person(server: MangaDexServer) -> Person:
    return server.add_person(follows=[server.add_manga("Followed")])


@pytest.fixture
async def link(connector: MangaDexConnector, person: Person) -> AsyncIterator[Link]:
    opened = await connector.open(person.name, await sign_in(connector, person), VolatileMemory())
    yield opened
    await opened.close()


async def test_a_login_asks_everything_at_once_and_hides_what_is_secret(connector: MangaDexConnector) -> None:
    step = await connector.login(LoginAttempt())
    assert isinstance(step, Ask)
    asked = [(question.name, question.secret) for question in step.questions]
    assert asked == [("name", False), ("password", True), ("client_id", False), ("client_secret", True)]


async def test_the_password_is_not_kept(connector: MangaDexConnector, person: Person) -> None:
    signed_in = await connector.login(LoginAttempt(answers=answers_of(person)))
    assert isinstance(signed_in, SignedIn)
    assert set(signed_in.secrets) == {"client_id", "client_secret", "refresh_token"}
    assert person.password not in signed_in.secrets.values()


@pytest.mark.parametrize("wrong", ["name", "password", "client_id", "client_secret"])
async def test_any_wrong_answer_fails_the_login(
    connector: MangaDexConnector, person: Person, wrong: str
) -> None:
    answers = {**answers_of(person), wrong: "x"}
    error = await error_of(connector, connector.login(LoginAttempt(answers=answers)))
    assert type(error) is AuthFailed
    assert "MangaDex refuses the sign-in: Invalid" in str(error)


async def test_the_calls_of_an_account_carry_its_token_and_those_of_a_guest_none(
    server: MangaDexServer, link: Link, guest: Link
) -> None:
    await link.find("x")
    await guest.find("x")
    sent = [call.headers.get("authorization") for call in server.calls if call.path == "/manga"]
    assert sent == ["Bearer access-2", None]


async def test_a_token_is_used_until_shortly_before_it_lapses(
    server: MangaDexServer, link: Link, clock: VirtualClock
) -> None:
    server.calls.clear()
    await link.find("x")
    clock.advance(800)
    await link.find("x")
    assert server.paths().count(TOKEN) == 1
    clock.advance(45)
    await link.find("x")
    assert server.paths().count(TOKEN) == 2


async def test_a_token_that_is_refused_is_renewed_once(server: MangaDexServer, link: Link) -> None:
    await link.find("x")
    server.end_tokens()
    server.calls.clear()
    assert await link.find("x") == []
    assert server.paths() == ["/manga", TOKEN, "/manga"]


async def test_calls_at_the_same_time_renew_the_token_once(server: MangaDexServer, link: Link) -> None:
    await link.find("x")
    server.end_tokens()
    server.calls.clear()
    await asyncio.gather(*(link.find("x") for _ in range(5)))
    assert server.paths().count(TOKEN) == 1


async def test_a_new_token_that_is_refused_too_is_not_renewed_for_ever(
    server: MangaDexServer, link: Link, connector: MangaDexConnector
) -> None:
    server.calls.clear()
    server.fail_with(401, path="/manga", times=9)
    assert type(await error_of(connector, link.find("x"))) is AuthFailed
    assert server.paths() == [TOKEN, "/manga", TOKEN, "/manga"]


async def test_a_session_that_has_ended_needs_a_login(
    server: MangaDexServer, link: Link, connector: MangaDexConnector
) -> None:
    server.end_sessions()
    error = await error_of(connector, link.find("x"))
    assert (type(error), str(error)) == (AuthFailed, "MangaDex refuses the sign-in: Token is not active")


async def test_a_sign_in_that_is_out_of_order_does_not_end_the_account(
    server: MangaDexServer, link: Link, connector: MangaDexConnector
) -> None:
    server.fail_with(503, path=TOKEN)
    assert type(await error_of(connector, link.find("x"))) is Transient
    server.fail_with(403, path=TOKEN, body=b"<html>wall</html>")
    assert type(await error_of(connector, link.find("x"))) is RateLimited
    server.fail_with(200, path=TOKEN, body=b"<html>hello</html>")
    assert type(await error_of(connector, link.find("x"))) is Transient
    assert await link.find("x") == []


async def test_an_account_without_its_secrets_is_not_taken_for_a_guest(
    connector: MangaDexConnector,
) -> None:
    error = await error_of(connector, connector.open("reader", {"client_id": "x"}, VolatileMemory()))
    assert type(error) is AuthFailed


async def test_the_followed_series_are_discovered(
    server: MangaDexServer, link: Link, guest: Link, person: Person
) -> None:
    person.follows += [server.add_manga(f"Series {number}") for number in range(249)]
    server.calls.clear()
    found = await link.discover()
    assert [(one.key, one.kind, one.is_series) for one in found] == [
        (key, "listing", True) for key in person.follows
    ]
    assert server.paths().count("/user/follows/manga") == 3
    assert await guest.discover() == []
