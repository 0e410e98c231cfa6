"""The suite must fail for connectors that lie: each of these makes one mistake that has been made before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headgate.connectors.protocol import Part, Sent
from headgate.domain.errors import WorkError
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World, file_of
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.platform.link import SimulatedLink

pytestmark = pytest.mark.once


class ShortPageIsTheEnd(SimulatedLink):
    """Takes a page that is smaller than the limit for the end of the stream."""

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        page = await super().read(stream, lens=lens, hole=hole, bound=bound, bookmark=bookmark, limit=limit)
        if len(page.messages) < limit:
            return replace(page, proven=Span(hole.start, min(hole.end, bound)), exhausted=True)
        return page


class ProvesTheYoung(SimulatedLink):
    """Forgets the settle margin."""

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        page = await super().read(stream, lens=lens, hole=hole, bound=bound, bookmark=bookmark, limit=limit)
        lowest = min((m.position for m in page.messages), default=hole.start)
        return replace(page, proven=Span(lowest, min(hole.end, bound)))


class ReadsOldestFirst(SimulatedLink):
    """Turns pages round."""

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        page = await super().read(stream, lens=lens, hole=hole, bound=bound, bookmark=bookmark, limit=limit)
        return replace(page, messages=page.messages[::-1])


class IgnoresTheLens(SimulatedLink):
    """Reads everything, whatever was asked for."""

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        return await super().read(
            stream, lens="everything", hole=hole, bound=bound, bookmark=bookmark, limit=limit
        )


class InventsHeads(SimulatedLink):
    """Answers also for streams that do not exist."""

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        return dict.fromkeys(streams, Head(1)) | dict(await super().heads(streams))


class ProofReachesBack(SimulatedLink):
    """Lets the first event of a connection prove everything before it."""

    async def listen(self) -> AsyncIterator[LiveEvent]:
        async for event in super().listen():
            yield (
                event if event.message is None else replace(event, proven=Span(0, event.message.position + 1))
            )


class RestartsDownloads(SimulatedLink):
    """Ignores the offset."""

    def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        return super().download(stream, message_key=message_key, attachment_key=attachment_key)


class ForgetsKeys(SimulatedLink):
    """Makes up a new key for each send."""

    sent = 0

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        self.sent += 1
        return await super().send(target, part, key=f"{key}-{self.sent}")


class RemembersTheDeleted(SimulatedLink):
    """Answers from a cache of its own."""

    def __init__(self, world: World, account: str) -> None:
        super().__init__(world, account)
        self.world = world

    async def message(self, stream: str, key: str) -> Message | None:
        return self.world.tell(self.world.row(stream, key))


class Harness(ConnectorUnderTest):
    """The plain simulated platform behind a connector that errs."""

    def __init__(self, broken: type[SimulatedLink]) -> None:
        self.clock = VirtualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
        self.world = World(7, self.clock, PRESETS["plain"])
        self.world.add_account("reader")
        self.connector = SimulatedConnector(self.world)
        self.link = broken(self.world, "reader")

    async def make_stream(self, count: int) -> str:
        key = self.world.add_stream(f"stream-{len(self.world.streams)}").key
        self.world.fill(key, count)
        return key

    async def post(self, stream: str, *, text: str) -> Message:
        return self.world.post(stream, text=text)

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        return self.world.post(stream, files=[file_of(name, content, mime_type=mime_type)])

    async def delete(self, stream: str, key: str) -> None:
        self.world.delete(stream, key)

    async def drop_connections(self) -> None:
        self.world.disconnect()

    async def settle(self) -> None:
        self.clock.advance(31)

    async def pause(self) -> None:
        self.clock.advance(1)
        await self.clock.sleep(0)
        await self.clock.sleep(0)

    async def make_target(self) -> str:
        return self.world.add_group(f"group-{len(self.world.groups)}").key

    async def texts_at(self, target: str) -> Sequence[str]:
        return [message.text for message in self.world.groups[target].messages]

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return []


Check = Callable[[ConnectorConformance, ConnectorUnderTest], Awaitable[None]]


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (ShortPageIsTheEnd, ConnectorConformance.test_a_limit_above_the_page_size_does_not_look_like_the_end),
        (ProvesTheYoung, ConnectorConformance.test_young_messages_are_not_proven),
        (ReadsOldestFirst, ConnectorConformance.test_reading_every_hole_finds_each_message_once),
        (IgnoresTheLens, ConnectorConformance.test_a_lens_finds_its_kind_and_no_other),
        (InventsHeads, ConnectorConformance.test_heads_come_in_bulk_and_unknown_streams_are_left_out),
        (ProofReachesBack, ConnectorConformance.test_nothing_is_missing_from_what_live_events_prove),
        (ProofReachesBack, ConnectorConformance.test_a_disconnect_ends_what_is_proven),
        (RestartsDownloads, ConnectorConformance.test_a_download_is_what_was_posted_from_any_offset),
        (ForgetsKeys, ConnectorConformance.test_a_repeat_of_a_key_does_what_the_manifest_says),
        (RemembersTheDeleted, ConnectorConformance.test_a_deleted_message_is_nothing),
    ],
    ids=lambda value: value.__name__,
)
async def test_a_connector_that_errs_does_not_pass(broken: type[SimulatedLink], check: Check) -> None:
    with pytest.raises(AssertionError):
        await check(ConnectorConformance(), Harness(broken))
    await check(ConnectorConformance(), Harness(SimulatedLink))
