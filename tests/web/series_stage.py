"""The web part beside a site with listings and a server with feeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from bench import build_bench
from listing_bench import READER, ListingBench
from webworld import WebWorld, make_world

from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.kernel.settings import WebSettings
from headgate.storage.channels.channels import upsert_account
from headgate.storage.database import Database
from headgate.testing import PRESETS, SimulatedConnector

API = "/api/v1"
BOUNDS = FeedBounds(timeout_s=5, max_bytes=1_000_000, user_agent="Headgate tests", allow_private=True)


@dataclass
class SeriesStage:
    """The web part, and what the world publishes."""

    web: WebWorld
    listed: ListingBench

    def offer(self, key: str, title: str, *numbers: str) -> None:
        """Let the site have a series."""
        self.listed.bench.world.add_listing(key, title=title)
        self.listed.publish(key, *numbers)

    async def add(self, client: httpx.AsyncClient, key: str, title: str, *numbers: str) -> str:
        """Let the site have a series, follow it through the API, and look at it; returns its id."""
        self.offer(key, title, *numbers)
        made = await client.post(f"{API}/series", json={"platform": "simulated", "key": key})
        assert made.status_code == 201, made.text
        await self.listed.work()
        return made.json()["series"]["id"]


async def build_stage(database: Database, url: str, data_dir: Path) -> SeriesStage:
    listed = ListingBench(build_bench(database, url, PRESETS["plain"]))
    bench = listed.bench
    async with database.transaction() as tx:
        await upsert_account(
            tx,
            bench.parts.ids.new(),
            platform="simulated",
            name=READER,
            established=True,
            now=bench.clock.now(),
        )
    connectors = {
        "simulated": SimulatedConnector(bench.world),
        "feeds": FeedsConnector(BOUNDS, bench.clock),
    }
    web = make_world(database, data_dir, settings=WebSettings(), clock=bench.clock, connectors=connectors)
    return SeriesStage(web, listed)


async def get_json(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(API + path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def get_pages(
    client: httpx.AsyncClient, path: str, *, what: str, place: str, **params: Any
) -> list[Any]:
    """Return everything of a list that comes in pages."""
    seen: list[Any] = []
    following: str | None = ""
    while following is not None:
        answer = await get_json(client, path, **params, **({place: following} if following else {}))
        seen += answer[what]
        following = answer["next"]
    return seen
