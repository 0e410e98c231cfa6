"""What MangaDex refuses, and what it means: to whom, for how long, and in plain words."""

from __future__ import annotations

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mangadex_server import MangaDexServer
from mangadex_stage import connect, error_of, sign_in

from headgate.connectors.mangadex import MangaDexConnector
from headgate.connectors.mangadex.answers import USER_AGENT
from headgate.connectors.mangadex.shapes import chapters_of, manga_of
from headgate.connectors.protocol import Link
from headgate.domain.errors import Malformed, RateLimited, Restricted, Transient, WorkError
from headgate.kernel.clock import RealClock, VirtualClock
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once

NOON_UNIX = 1772366400
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "attributes", "relationships", "title", "altTitles", "chapter"]),
            inner,
        )
    ),
    max_leaves=12,
)


async def test_every_call_says_honestly_who_asks(server: MangaDexServer, guest: Link) -> None:
    await guest.find("x")
    assert server.calls[0].headers["user-agent"] == USER_AGENT
    assert USER_AGENT.startswith("Headgate/")
    assert "via" not in server.calls[0].headers


async def test_the_rate_limit_says_how_long_to_wait(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector, clock: VirtualClock
) -> None:
    server.per_second = 5
    for _ in range(5):
        await guest.sweep("", {"since": "2026-03-01T12:00:00"})
    error = await error_of(connector, guest.find("x"))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 1
    clock.advance(1)
    assert await guest.find("x") == []


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"X-RateLimit-Retry-After": str(NOON_UNIX + 25)}, 25),
        ({"X-RateLimit-Retry-After": str(NOON_UNIX + 25), "Retry-After": "99"}, 25),
        ({"X-RateLimit-Retry-After": str(NOON_UNIX - 25)}, 1),
        ({"X-RateLimit-Retry-After": str(NOON_UNIX + 10**7)}, 3600),
        ({"X-RateLimit-Retry-After": "30"}, 30),
        ({"Retry-After": "40"}, 40),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:50 GMT"}, 50),
        ({"Retry-After": "soon"}, 60),
        ({}, 60),
    ],
)
async def test_a_wait_is_read_in_each_form_and_bounded(
    server: MangaDexServer,
    guest: Link,
    connector: MangaDexConnector,
    headers: dict[str, str],
    wait_s: float,
) -> None:
    server.fail_with(429, headers=headers)
    error = await error_of(connector, guest.find("x"))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == wait_s


@pytest.mark.parametrize("status", [401, 403])
async def test_a_guest_who_is_refused_waits_and_is_told_to_sign_in(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector, status: int
) -> None:
    server.fail_with(status)
    error = await error_of(connector, guest.list(server.add_manga(), {}))
    assert isinstance(error, RateLimited), "no AuthFailed: it would end the guest's account for everybody"
    assert "MangaDex limits what guests may ask; sign in" in str(error)


@pytest.mark.parametrize(
    ("status", "meaning"), [(400, Malformed), (403, Restricted), (500, Transient), (503, Transient)]
)
async def test_what_a_status_means_to_somebody_who_is_signed_in(
    server: MangaDexServer, connector: MangaDexConnector, status: int, meaning: type[WorkError]
) -> None:
    link = await connector.open("reader", await sign_in(connector, server.add_person()), VolatileMemory())
    server.fail_with(status, path="/manga")
    error = await error_of(connector, link.find("x"))
    await link.close()
    assert type(error) is meaning
    assert str(error)


@pytest.mark.parametrize(
    ("status", "body", "meaning", "words"),
    [
        (200, b"<html>Just a moment...</html>", Transient, "something else than its API's words"),
        (200, b'{"result": "ok", "data": [', Transient, "something else than its API's words"),
        (200, b'{"result": "ok", "data": {}}', Transient, "not a page of a list"),
        (200, b"[1]", Transient, "something else than its API's words"),
        (200, b"\xff\xfe", Transient, "something else than its API's words"),
        (200, b"[" * 100_000, Transient, "something else than its API's words"),
        (403, b"<html>Attention Required!</html>", RateLimited, "a wall in front of MangaDex"),
        (404, b"<html>nginx</html>", Transient, "status 404 came without MangaDex's own words"),
        (404, b'{"message": "no Route matched"}', Transient, "status 404 came without"),
        (302, b"", Transient, "status 302"),
        (502, b"<html>Bad Gateway</html>", Transient, "status 502"),
    ],
)
async def test_an_answer_that_is_not_the_apis_is_no_verdict_on_the_series(
    server: MangaDexServer,
    guest: Link,
    connector: MangaDexConnector,
    status: int,
    body: bytes,
    meaning: type[WorkError],
    words: str,
) -> None:
    server.fail_with(status, body=body)
    error = await error_of(connector, guest.list(server.add_manga(), {}))
    assert type(error) is meaning
    assert words in str(error)


async def test_a_captcha_is_a_wait_that_a_person_can_shorten(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector
) -> None:
    server.fail_with(403, headers={"X-Captcha-Sitekey": "key"})
    error = await error_of(connector, guest.find("x"))
    assert isinstance(error, RateLimited)
    assert "captcha" in str(error)


async def test_the_apis_own_words_reach_the_person(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector
) -> None:
    error = {"id": "1", "status": 400, "title": "validation_exception", "detail": "limit is wrong"}
    server.fail_with(400, body={"result": "error", "errors": [{**error, "context": None}]})
    assert str(await error_of(connector, guest.find("x"))) == "validation_exception: limit is wrong"


async def test_a_huge_answer_is_refused(
    server: MangaDexServer, guest: Link, connector: MangaDexConnector
) -> None:
    server.fail_with(200, body=b" " * (33 * 1024 * 1024))
    error = await error_of(connector, guest.find("x"))
    assert type(error) is Transient
    assert "larger than" in str(error)


async def test_a_server_that_is_away_is_transient(server: MangaDexServer) -> None:
    connector = connect(server)
    link = await connector.open("anonymous", {}, VolatileMemory())
    server.stop()
    error = await error_of(connector, link.find("x"))
    await link.close()
    assert type(error) is Transient
    assert "cannot be reached" in str(error)


async def test_an_answer_that_takes_too_long_is_transient(server: MangaDexServer) -> None:
    connector = connect(server, clock=RealClock(), timeout_s=0.05)
    link = await connector.open("anonymous", {}, VolatileMemory())
    with server.held():
        error = await error_of(connector, link.find("x"))
    await link.close()
    assert (type(error), str(error)) == (Transient, "MangaDex did not answer in time")


async def test_a_link_that_is_closed_answers_no_more(connector: MangaDexConnector) -> None:
    link = await connector.open("anonymous", {}, VolatileMemory())
    await link.close()
    assert type(await error_of(connector, link.find("x"))) is Transient


async def test_what_the_site_lacks_is_refused_in_words(guest: Link, connector: MangaDexConnector) -> None:
    error = await error_of(connector, guest.heads(["x"]))
    assert (type(error), str(error)) == (Malformed, "MangaDex has no streams")


def test_the_host_is_that_of_the_api(server: MangaDexServer, connector: MangaDexConnector) -> None:
    assert connector.host_of("any") == httpx.URL(server.api).netloc.decode()


def test_all_kinds_of_calls_share_one_budget(connector: MangaDexConnector) -> None:
    lanes = connector.manifest.lanes
    assert {kind: (lane.per_minute, lane.burst) for kind, lane in lanes.items()} == dict.fromkeys(
        ("list", "sweep", "find"), (240, 5)
    )
    assert len({lane.shared for lane in lanes.values()} - {""}) == 1


@given(JSON)
def test_no_shape_crashes_the_reader(row: object) -> None:
    told = list(chapters_of([row], site="https://x"))
    manga = manga_of(row)
    assert len(told) == 1
    assert manga is None or manga.key
    assert json.dumps(repr(told))
