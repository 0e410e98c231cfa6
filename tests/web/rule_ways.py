"""The ways to work with rules: a command, the API or a page, each with the same effect."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

import httpx
import pytest
from typer.testing import CliRunner
from webworld import ORIGIN, form_token

from headgate.cli.main import app

Way = Literal["command", "api", "page"]
ways = pytest.mark.parametrize("way", ["command", "api", "page"])


@dataclass(frozen=True)
class RuleWays:
    """Where rules of one kind are to be found."""

    client: httpx.AsyncClient
    typed: tuple[str, ...]
    """The command, without the program's name."""
    api_path: str
    page_path: str

    async def command(self, *arguments: object) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, app, [*self.typed, *map(str, arguments)])
        assert done.exit_code in {0, 1}, done.output
        return done.stdout + " ".join(done.stderr.split())

    async def api(self, method: str, path: str, **body: Any) -> str:
        headers = {"x-csrf-token": await form_token(self.client), "origin": ORIGIN}
        url = f"/api/v1{self.api_path}{path}"
        answer = await self.client.request(method, url, json=body, headers=headers)
        assert answer.status_code < 500
        return answer.text

    async def post(self, path: str, **fields: str) -> str:
        data = {"csrf_token": await form_token(self.client), **fields}
        answer = await self.client.post(f"{self.page_path}{path}", data=data, headers={"origin": ORIGIN})
        assert answer.status_code < 500
        return answer.text

    async def page(self, path: str) -> str:
        return (await self.client.get(f"{self.page_path}{path}")).text

    async def remove(self, way: Way, rule_id: object, name: str) -> None:
        if way == "command":
            await self.command("remove", name, "--yes")
        elif way == "api":
            await self.api("DELETE", f"/{rule_id}")
        else:
            assert f"Remove the rule “{name}”?" in await self.page(f"/{rule_id}/remove")
            await self.post(f"/{rule_id}/remove")
