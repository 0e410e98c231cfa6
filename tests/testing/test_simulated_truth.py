"""Whoever believes what pages and live events prove, and reads the rest, finds everything once faults stop.

This is intake in small, without a database: if it loses a message, the platform or its connector lies.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.connectors.protocol import Link
from headgate.domain.errors import AccountTrouble
from headgate.domain.streams.messages import LiveEvent, Page, Span
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World
from headgate.testing.conformance.placing import Places
from headgate.testing.content.seeds import derive
from headgate.testing.listener import LinkListener
from headgate.testing.memory import VolatileMemory
from headgate.testing.platform.errors import SimError
from headgate.testing.platform.faults import WILD

pytestmark = pytest.mark.once


class Believer:
    """Reads what is not proven yet, and believes every proof."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._connector = SimulatedConnector(world)
        self.seen: set[str] = set()
        self.proven: list[Span] = []
        self.listener: LinkListener | None = None
        self._heard = 0

    async def step(self) -> None:
        try:
            link = await self._connector.open("reader", {}, VolatileMemory())
            await self.hear(link)
            await self.read_on(link)
        except SimError as error:
            if isinstance(self._connector.classify(error), AccountTrouble):
                self._world.restore("reader")

    async def hear(self, link: Link) -> None:
        if self.listener is None or self.listener.ended:
            self.listener = LinkListener(link)
            self._heard = 0
            await self.listener.start()
        await self.listener.catch_up()
        for event in self.listener.events[self._heard :]:
            self._believe_event(event)
        self._heard = len(self.listener.events)

    async def read_on(self, link: Link) -> None:
        head = (await link.heads(["packs"]))["packs"].position
        bound = 0 if head is None else head + 1
        hole = self.next_hole(bound)
        if hole is not None:
            page = await link.read("packs", lens="everything", hole=hole, bound=bound, bookmark="", limit=5)
            self._believe_page(page)

    def next_hole(self, bound: int) -> Span | None:
        end = bound
        for span in sorted(self.proven, reverse=True):
            if span.end < end:
                return Span(span.end, end)
            end = min(end, span.start)
        return Span(0, end) if end > 0 else None

    def _believe_event(self, event: LiveEvent) -> None:
        self.seen.add(event.key)
        if event.proven is not None:
            self.proven.append(event.proven)

    def _believe_page(self, page: Page) -> None:
        self.seen.update(message.key for message in page.messages)
        self.seen.update(page.unreadable)
        if not page.proven.empty:
            self.proven.append(page.proven)


class PlacingBeliever(Believer):
    """The same where it has to place messages itself."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._places = Places()
        self._heard_by: LinkListener | None = None

    def _believe_event(self, event: LiveEvent) -> None:
        if event.kind in {"gap", "message"}:
            self.proven += self._places.hear(event, continuous=self._heard_by is self.listener)
            self._heard_by = self.listener
        super()._believe_event(event)

    async def read_on(self, link: Link) -> None:
        bound = self._places.bound_of((await link.heads(["packs"]))["packs"])
        hole = self.next_hole(bound)
        if hole is not None:
            bookmark = self._places.bookmarks.get(hole.end, "")
            page = await link.read(
                "packs", lens="everything", hole=hole, bound=bound, bookmark=bookmark, limit=5
            )
            self._believe_page(self._places.place(page, hole=hole))

    def next_hole(self, bound: int) -> Span | None:
        return super().next_hole(0 if self._places.head is None else self._places.head + 1)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("profile", list(PRESETS))
@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_lost_when_every_proof_is_believed(profile: str, seed: int) -> None:
    clock = VirtualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    world = World(seed, clock, PRESETS[profile].but(flood_per_minute={}), rates=WILD)
    account = world.add_account("reader")
    world.add_stream("packs")
    believer = PlacingBeliever(world) if world.profile.allotted else Believer(world)
    choices = derive(seed, "driver")
    for n in range(150):
        if choices.chance(0.6):
            world.post("packs", text=f"message {n}")
        clock.advance(choices.uniform(0, 8))
        await believer.step()
    world.calm()
    for _ in range(150):
        clock.advance(60)
        await believer.step()
    remaining = {str(message.position + account.shift) for message in world.messages("packs")}
    bound = max(map(int, remaining)) + 1
    assert remaining <= believer.seen
    assert believer.next_hole(bound) is None
    if believer.listener is not None:
        await believer.listener.stop()
