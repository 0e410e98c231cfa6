"""Health, metrics, and the files that others made."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

import pytest
from webworld import WebWorld, make_world

from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile

VENDORED = {
    "htmx.min.js": "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de",
    "htmx-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
}

Q = QueryFile("newer", "-- name: newer\ninsert into headgate_migration values (9999, 'future', 'x')")


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_scripts_are_the_ones_that_were_read(name: str) -> None:
    content = resources.files("headgate.web").joinpath("static/vendor", name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == VENDORED[name]


async def test_ready_means_that_everything_is(world: WebWorld) -> None:
    async with world.client() as client:
        answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


async def test_why_not_ready_is_told_to_those_signed_in(world: WebWorld) -> None:
    world.reasons.append("no worker is alive")
    async with world.client() as client:
        assert (await client.get("/readyz")).json() == {"ready": False}
    async with world.signed_in() as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["no worker is alive"]


async def test_a_newer_schema_is_not_ready(world: WebWorld) -> None:
    async with world.database.transaction() as tx:
        await tx.execute(Q["newer"])
    async with world.signed_in() as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "newer than this Headgate" in answer.json()["reasons"][0]


async def test_a_look_is_kept_for_a_moment_only(world: WebWorld) -> None:
    async with world.client() as client:
        assert (await client.get("/readyz")).status_code == 200
        world.reasons.append("no worker is alive")
        assert (await client.get("/readyz")).status_code == 200
        world.real_clock.advance(2)
        assert (await client.get("/readyz")).status_code == 503


async def test_a_data_folder_that_is_gone_is_not_ready(database: Database, tmp_path: Path) -> None:
    world = make_world(database, tmp_path / "gone", settings=WebSettings())
    async with world.client() as client:
        assert (await client.get("/readyz")).status_code == 503


async def test_monitoring_on_this_machine_reads_metrics(world: WebWorld) -> None:
    async with world.client(address="127.0.0.1") as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert "headgate_web_request_seconds" in answer.text


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip"])
async def test_a_proxy_on_this_machine_does_not_count_as_local(world: WebWorld, header: str) -> None:
    async with world.client(address="127.0.0.1") as client:
        assert (await client.get("/metrics", headers={header: "203.0.113.7"})).status_code == 401


async def test_behind_a_public_address_nobody_counts_as_local(database: Database, tmp_path: Path) -> None:
    world = make_world(database, tmp_path, settings=WebSettings(public_url="https://gate.example"))
    async with world.client(address="127.0.0.1") as client:
        assert (await client.get("/metrics")).status_code == 401


async def test_administrators_read_metrics(world: WebWorld) -> None:
    async with world.signed_in() as client:
        assert (await client.get("/metrics")).status_code == 200
