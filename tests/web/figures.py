"""Figures, the places that show them, and how each place says them.

A place is a command (`headgate explain packs`), an address of the API, a page, or `/metrics`. Where one more
place shows a figure, that is one more line in a table of figures.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape
from typing import Any

import httpx
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.kernel.clock import Clock, RealClock
from headgate.storage.database import Database

COMMAND = "headgate "
Find = Callable[[Any], Any]
"""How to find a figure in what a place shows: a document, a `Page` or `Metrics`."""
ANCHOR = (
    "insert into product_clock (opened_at, real_anchor, product_anchor, scale) values ($1, $1, $2, 1e-9)"
    " on conflict (single) do update set real_anchor = $1, product_anchor = $2"
)


@dataclass(frozen=True)
class Figure:
    """Something that more than one place says."""

    name: str
    said: Mapping[str, Find | tuple[Find, ...]]
    """By place; `{name}` in a place stands for an id or a name. A place can say it more than once."""

    def values(self, shown: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what the places say."""
        return {place: [find(shown[place]) for find in _all(finds)] for place, finds in self.said.items()}


def _all(finds: Find | tuple[Find, ...]) -> tuple[Find, ...]:
    return (finds,) if callable(finds) else finds


@dataclass(frozen=True)
class Page:
    """What a page shows."""

    html: str

    def text(self, pattern: str) -> str:
        """Return the text of the first group of a pattern, without its tags."""
        found = re.search(pattern, self.html, re.DOTALL)
        assert found is not None, f"{pattern!r} is not on the page"
        return plain(found[1])

    def texts(self, pattern: str) -> list[str]:
        return [plain(one) for one in re.findall(pattern, self.html, re.DOTALL)]

    def number(self, pattern: str) -> int:
        return number(self.text(pattern))

    def row(self, row_id: str) -> Page:
        """Return a row of a table."""
        found = re.search(rf'<tr id="{row_id}".*?</tr>', self.html, re.DOTALL)
        assert found is not None, f"there is no row {row_id}"
        return Page(found[0])

    def cell(self, label: str) -> str:
        """Return the cell that is labelled so."""
        return self.text(rf'<td[^>]*data-label="{label}"[^>]*>(.*?)</td>')

    def fact(self, name: str) -> str:
        """Return what stands beside a name in a list of facts."""
        return self.text(rf"<dt>{name}</dt>\s*<dd>(.*?)</dd>")


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def number(text: str) -> int:
    """Return the number at the start of a text; thousands are set apart by narrow spaces."""
    found = re.match(r"[\d\u202f]+", text)
    assert found is not None, f"{text!r} begins with no number"
    return int(found[0].replace("\u202f", ""))


@dataclass(frozen=True)
class Metrics:
    """What `/metrics` shows; counters as they grew since the history began, since a process keeps them."""

    samples: Mapping[str, float]
    began: Mapping[str, float]

    def grown(self, name: str) -> int:
        """Return by how much a counter has grown, over all its labels that begin so."""
        return round(_sum(self.samples, name) - _sum(self.began, name))

    def gauge(self, name: str) -> int:
        return round(_sum(self.samples, name))


def _sum(samples: Mapping[str, float], name: str) -> float:
    return sum(value for sample, value in samples.items() if sample.startswith(name))


def parse_metrics(text: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


@dataclass
class Places:
    """All places of one installation, as one person sees them at one moment."""

    client: httpx.AsyncClient
    database: Database
    clock: Clock
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    began: dict[str, float] = field(default_factory=dict[str, float])

    async def begin(self) -> None:
        """Note what the counters show before anything happens."""
        self.began = parse_metrics((await self.client.get("/metrics")).text)

    async def compare(self, figures: Sequence[Figure]) -> dict[str, Any]:
        """Return what all places say; fail if two of them disagree."""
        await self._stop_the_clock()
        wanted = dict.fromkeys(place for figure in figures for place in figure.said)
        shown = {place: await self._read(place.format(**self.names)) for place in wanted}
        said = {figure.name: figure.values(shown) for figure in figures}
        agreed = {name: next(iter(values.values()))[0] for name, values in said.items()}
        differ = [
            f"{name}: {values}"
            for name, values in said.items()
            if any(value != agreed[name] for found in values.values() for value in found)
        ]
        assert not differ, "\n".join(differ)
        return agreed

    async def _read(self, place: str) -> Any:
        if place.startswith(COMMAND):
            return await command(*place.removeprefix(COMMAND).split())
        answer = await self.client.get(place)
        assert answer.status_code == 200, answer.text
        if place == "/metrics":
            return Metrics(parse_metrics(answer.text), self.began)
        return answer.json() if place.startswith("/api/") else Page(answer.text)

    async def _stop_the_clock(self) -> None:
        """Let commands go by the history's time, which stands still meanwhile."""
        async with self.database.transaction() as tx:
            await tx.raw(ANCHOR, [RealClock().now(), self.clock.now()])


async def command(*arguments: str) -> Any:
    """Return the document that a command prints, which has a loop of its own."""
    result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--json"])
    assert result.stdout, result.output
    return json.loads(result.stdout)


def only(rows: Sequence[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """Return the one row that has these values."""
    found = [row for row in rows if all(str(row[name]) == str(value) for name, value in wanted.items())]
    assert len(found) == 1, (wanted, rows)
    return found[0]


def moment(find: Find) -> Find:
    """Return a time, however it is written."""

    def at(shown: Any) -> datetime | None:
        text = find(shown)
        return None if text is None else datetime.fromisoformat(text)

    return at
