"""Live events: none is invented, and what they prove is true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headgate.domain.streams.messages import LiveEvent, Message, Span
from headgate.domain.streams.placing import next_head
from headgate.testing.conformance.harness import ConnectorUnderTest, expect
from headgate.testing.conformance.walk import covers, read_page, walk_stream


class LiveConformance:
    """A live event is a proof or a hint, as the manifest says, and never more than that."""

    async def test_a_message_is_told_as_it_is_read(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("live", "streams")
        stream = await under_test.make_stream(2)
        async with _listening(under_test) as events:
            message = await _post_until_heard(under_test, stream, events)
        await under_test.settle()
        told = next(e.message for e in events if e.key == message.key)
        walk = await walk_stream(under_test, stream, limit=50)
        read = next(m for m in walk.messages if m.key == message.key)
        expect(told is not None and under_test.same(told, read), f"told live as {told}, but read as {read}")

    async def test_nothing_is_missing_from_what_live_events_prove(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("live", "streams")
        stream = await under_test.make_stream(2)
        async with _listening(under_test) as events:
            await _post_until_heard(under_test, stream, events)
            posted = [await under_test.post(stream, text=f"number {n}") for n in range(10)]
            await under_test.until(
                lambda: {m.key for m in posted} <= {e.key for e in events}, "all posts come as live events"
            )
        await under_test.settle()
        proven = [e.proven for e in events if e.stream == stream and e.proven is not None]
        if under_test.allots:
            told = [e.message_key for e in events if e.stream == stream and e.kind == "message"]
            keys = [m.key for m in posted]
            expect(told[told.index(keys[0]) :] == keys, "one connection tells everything, in order")
            return
        if under_test.connector.manifest.live == "hint":
            expect(not proven, "where live events are hints they prove nothing")
            return
        walk = await walk_stream(under_test, stream, limit=50)
        heard = {event.key for event in events}
        missing = [m.key for m in walk.messages if covers(proven, m.position) and m.key not in heard]
        expect(not missing, f"proven, but never told: {missing}")
        expect(all(covers(proven, m.position) for m in posted), "an unbroken connection proves what it told")

    async def test_a_disconnect_ends_what_is_proven(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("live", "streams")
        stream = await under_test.make_stream(1)
        async with _listening(under_test) as first:
            await _post_until_heard(under_test, stream, first)
            await under_test.drop_connections()
            await under_test.until(lambda: _ended(first), "the iterator says that the connection ended")
        missed = await under_test.post(stream, text="nobody listens")
        async with _listening(under_test) as second:
            await _post_until_heard(under_test, stream, second)
        proven = [e.proven for e in (*first, *second) if e.stream == stream and e.proven is not None]
        told = {event.key for event in (*first, *second)}
        if under_test.allots and missed.key not in told:
            begins = next(e for e in second if e.stream == stream and e.kind in {"gap", "message"})
            hole = Span(0, next_head(None))
            page = await read_page(
                under_test, stream, hole=hole, bound=hole.end, limit=50, bookmark=begins.bookmark
            )
            expect(missed.key in {m.key for m in page.messages}, "what was missed is behind the bookmark")
            return
        expect(
            missed.key in told or not covers(proven, missed.position), "a gap between connections is no proof"
        )

    async def test_edits_and_deletions_are_told(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("live", "streams")
        stream = await under_test.make_stream(1)
        async with _listening(under_test) as events:
            message = await _post_until_heard(under_test, stream, events)
            await under_test.edit(stream, message.key, text="changed")
            await under_test.delete(stream, message.key)
            await under_test.until(
                lambda: {"edit", "delete"} <= {e.kind for e in events if e.key == message.key},
                "the edit and the deletion come as live events",
            )
        edit = next(e for e in events if e.kind == "edit" and e.key == message.key)
        expect(edit.message is None or edit.message.text == "changed", "an edit tells the new text, or none")


@asynccontextmanager
async def _listening(under_test: ConnectorUnderTest) -> AsyncGenerator[list[LiveEvent]]:
    """Collect live events until the block ends."""
    events: list[LiveEvent] = []

    async def collect() -> None:
        try:
            async for event in under_test.link.listen():
                events.append(event)  # noqa: PERF401 - each is wanted as it comes, not all at the end
        finally:
            events.append(LiveEvent("disconnect"))

    listener = asyncio.create_task(collect())
    await under_test.pause()
    try:
        yield events
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def _post_until_heard(under_test: ConnectorUnderTest, stream: str, events: list[LiveEvent]) -> Message:
    """Post until a post is heard: only then the connection surely stands."""
    posted: list[Message] = []

    def heard() -> Message | None:
        told = {event.key for event in events if event.kind == "message"}
        return next((message for message in posted if message.key in told), None)

    for n in range(100):
        posted.append(await under_test.post(stream, text=f"is this heard? ({n})"))
        await under_test.pause()
        if (message := heard()) is not None:
            return message
    raise AssertionError("no post ever came as a live event")


def _ended(events: list[LiveEvent]) -> bool:
    return any(event.kind == "disconnect" for event in events)
