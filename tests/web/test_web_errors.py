"""Errors as people and programs see them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import Response
from webworld import WebWorld, make_world

from headgate.kernel.clock import RealClock
from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database
from headgate.storage.errors import Collided
from headgate.web import parts
from headgate.web.door import PUBLIC, DoorRoute


async def test_programs_get_problem_details(world: WebWorld) -> None:
    async with world.signed_in() as client:
        for path, status in (
            ("/api/v1/nothing", 404),
            ("/api/v1/items?limit=0", 422),
            ("/api/v1/items?before=x", 400),
        ):
            answer = await client.get(path)
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status


async def test_what_is_wrong_with_a_request_is_named(world: WebWorld) -> None:
    async with world.signed_in() as client:
        problem = (await client.get("/api/v1/items?limit=many")).json()
    assert problem["faults"][0]["where"] == "query.limit"


async def test_programs_are_told_how_to_authenticate(world: WebWorld) -> None:
    async with world.client() as client:
        answer = await client.get("/api/v1/items")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_people_get_a_page(world: WebWorld) -> None:
    async with world.client() as client:
        answer = await client.get("/nowhere")
    assert answer.status_code == 404
    assert "Page not found." in answer.text


async def test_a_fragment_is_sent_to_the_sign_in_as_a_whole(world: WebWorld) -> None:
    async with world.client() as client:
        answer = await client.get("/", headers={"hx-request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login")


async def test_a_fault_of_ours_shows_nothing_of_its_inside(world: WebWorld) -> None:
    async def fail() -> Response:
        raise ValueError("the secret reason")

    world.app.router.routes.append(DoorRoute("/fail", fail, door=PUBLIC, response_model=None))
    async with world.client(show_errors=False) as client:
        answer = await client.get("/fail")
    assert answer.status_code == 500
    assert "secret reason" not in answer.text
    assert "content-security-policy" in answer.headers


async def test_a_change_that_gave_way_to_another_may_be_tried_again(world: WebWorld) -> None:
    async def collide() -> None:
        raise Collided("deadlock detected")

    world.app.router.routes.append(DoorRoute("/collide", collide, door=PUBLIC, response_model=None))
    async with world.client() as client:
        answer = await client.get("/collide")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "nothing was done. Try again." in answer.text


async def test_a_database_that_is_away_is_said_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PATIENCE_S", 0.2)
    nowhere = Database("postgresql://nobody@127.0.0.1:1/none", RealClock())
    await nowhere.open()
    world = make_world(nowhere, tmp_path, settings=WebSettings())
    async with world.client() as client:
        page = await client.get("/login")
        client.cookies.set("headgate_session", "some token")
        problem = await client.get("/api/v1/items")
        ready = await client.get("/readyz")
        alive = await client.get("/healthz")
    await nowhere.close()
    assert (page.status_code, problem.status_code) == (503, 503)
    assert problem.headers["retry-after"] == "5"
    assert (ready.status_code, ready.json()) == (503, {"ready": False})
    assert alive.status_code == 200
