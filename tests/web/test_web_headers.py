"""What every answer carries, and what is refused before anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from webworld import WebWorld, make_world

from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database
from headgate.web.http.headers import CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("path", ["/login", "/", "/nowhere", "/api/v1/me", "/healthz", "/static/x/app.css"])
async def test_every_answer_is_guarded(world: WebWorld, path: str) -> None:
    async with world.client() as client:
        headers = (await client.get(path)).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in headers


def test_the_policy_allows_no_inline_code() -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "", "[", "localhost@evil.example:80"],
)
async def test_a_foreign_name_gets_nothing(world: WebWorld, host: str) -> None:
    async with world.signed_in() as client:
        answer = await client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize(
    "host", ["localhost:8420", "127.0.0.1:9", "[::1]:8420", "gate.example", "10.0.0.5:1"]
)
async def test_own_names_are_answered(database: Database, tmp_path: Path, host: str) -> None:
    settings = WebSettings(public_url="https://gate.example", host="10.0.0.5")
    world = make_world(database, tmp_path, settings=settings)
    async with world.client() as client:
        assert (await client.get("/healthz", headers={"host": host})).status_code == 200


async def test_static_files_are_kept_for_good_by_content(world: WebWorld) -> None:
    site = world.app.state.site
    url = site.assets.url("app.css")
    async with world.client() as client:
        answer = await client.get(url)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
        assert (await client.get("/static/0000000000000000/app.css")).status_code == 404
        assert (await client.get(url.replace("app.css", "..%2fapp.py"))).status_code == 404


async def test_a_body_that_is_too_large_is_refused(world: WebWorld) -> None:
    async with world.client() as client:
        answer = await client.post("/login", content=b"name=" + b"x" * 2_000_000)
    assert answer.status_code == 413
