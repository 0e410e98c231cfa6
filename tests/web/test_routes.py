"""Every way into the product has a door, and every door is closed."""

from __future__ import annotations

import re
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from webworld import ORIGIN, WebWorld

from headgate.web.door import ADMIN, METRICS, PUBLIC, SIGNED_IN, DoorRoute, ScopeDoor, list_doorless
from headgate.web.http.csrf import SAFE_METHODS

PUBLIC_ROUTES = {
    "GET /enter/{token}",
    "GET /healthz",
    "GET /login",
    "GET /readyz",
    "GET /setup/{token}",
    "GET /static/{digest}/{path:path}",
    "HEAD /healthz",
    "HEAD /login",
    "HEAD /readyz",
    "HEAD /setup/{token}",
    "HEAD /static/{digest}/{path:path}",
    "POST /login",
    "POST /setup/{token}",
}


def list_ways(app: FastAPI) -> list[tuple[str, DoorRoute]]:
    """Return all methods of all routes; whatever is not a route with a door fails right here."""
    ways: list[tuple[str, DoorRoute]] = []
    for route in app.routes:
        assert isinstance(route, DoorRoute), f"{route!r} has no door"
        ways.extend((method, route) for method in sorted(route.methods or ()))
    return ways


def path_of(route: DoorRoute) -> str:
    """Return an address of the route with something in the place of its parameters."""
    return re.sub(r"\{\w+(:path)?\}", str(UUID(int=7)), route.path)


async def ask(client: httpx.AsyncClient, method: str, route: DoorRoute) -> httpx.Response:
    return await client.request(method, path_of(route))


async def test_exactly_the_known_routes_are_public(world: WebWorld) -> None:
    public = {f"{method} {route.path}" for method, route in list_ways(world.app) if route.door is PUBLIC}
    assert public == PUBLIC_ROUTES


async def test_nobody_comes_in_without_credentials(world: WebWorld) -> None:
    closed = [way for way in list_ways(world.app) if way[1].door is not PUBLIC]
    assert len(closed) > 20
    async with world.client() as client:
        for method, route in closed:
            answer = await ask(client, method, route)
            sent_away = answer.status_code == 303 and answer.headers["location"].startswith("/login")
            assert answer.status_code == 401 or sent_away, f"{method} {route.path}: {answer.status_code}"


@pytest.mark.parametrize("header", ["Bearer hg_wrong", "Basic YWRhOmFkYQ==", "Bearer", ""])
async def test_wrong_credentials_are_none(world: WebWorld, header: str) -> None:
    async with world.signed_in() as client:
        for method, route in list_ways(world.app):
            if route.door is PUBLIC:
                continue
            answer = await client.request(method, path_of(route), headers={"authorization": header})
            assert answer.status_code in (401, 303), f"{method} {route.path}"


async def test_members_are_kept_out_of_what_is_for_administrators(world: WebWorld) -> None:
    for_admins = [way for way in list_ways(world.app) if way[1].door in (ADMIN, METRICS, ScopeDoor("admin"))]
    assert {route.path for _, route in for_admins} >= {"/jobs", "/metrics", "/api/v1/tokens"}
    async with world.signed_in(role="member") as client:
        for method, route in for_admins:
            answer = await ask(client, method, route)
            assert answer.status_code == 403, f"{method} {route.path}"


async def test_a_session_changes_nothing_without_its_form_token(world: WebWorld) -> None:
    unsafe = [way for way in list_ways(world.app) if way[0] not in SAFE_METHODS and way[1].door is not PUBLIC]
    assert len(unsafe) >= 8
    async with world.signed_in() as client:
        for method, route in unsafe:
            for headers in ({}, {"origin": ORIGIN}, {"x-csrf-token": "0" * 64}):
                answer = await client.request(method, path_of(route), headers=headers)
                assert answer.status_code == 403, f"{method} {route.path}"


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
async def test_no_route_takes_forms_from_other_sites(world: WebWorld, headers: dict[str, str]) -> None:
    async with world.signed_in() as client:
        for method, route in list_ways(world.app):
            if method in SAFE_METHODS:
                continue
            answer = await client.request(method, path_of(route), headers=headers)
            assert answer.status_code == 403, f"{method} {route.path}"


async def test_methods_that_no_route_has_lead_nowhere(world: WebWorld) -> None:
    async with world.signed_in() as client:
        ways = list_ways(world.app)
        for method, route in ways:
            known = {way for way, other in ways if other.path_regex.match(path_of(route))}
            for other in {"OPTIONS", "PUT", "PATCH", "TRACE"} - known:
                answer = await client.request(other, path_of(route))
                assert answer.status_code in (404, 405), f"{other} {route.path} beside {method}"


async def test_only_people_use_pages(world: WebWorld) -> None:
    """An API token does not open what is meant for browsers."""
    for _, route in list_ways(world.app):
        assert route.path.startswith("/api/") == isinstance(route.door, ScopeDoor), route.path


def test_a_route_without_a_door_cannot_be_made(world: WebWorld) -> None:
    with pytest.raises(TypeError, match="door"):
        world.app.add_api_route("/open", lambda: PlainTextResponse("open"))
    assert "/open" not in {route.path for _, route in list_ways(world.app)}


def test_mounts_and_plain_routes_count_as_doorless() -> None:
    async def show(request: Request) -> Response:
        return PlainTextResponse(request.url.path)

    ways = [Route("/page", show), Mount("/mount", Starlette())]
    assert len(list(list_doorless(ways))) == 2
    assert list_doorless([DoorRoute("/", lambda: None, door=SIGNED_IN)]) == []
