"""Heads and pages."""

from __future__ import annotations

from headgate.domain.errors import Gone
from headgate.domain.streams.messages import Head, Span
from headgate.testing.conformance.harness import ConnectorUnderTest, expect
from headgate.testing.conformance.walk import bound_of, read_page, walk_stream

_FEW = 23
_LIMIT = 7


class ReadingConformance:
    """What a page proves is true, and reading what is not proven finds everything, once."""

    async def test_heads_come_in_bulk_and_unknown_streams_are_left_out(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("streams")
        count = min(3, under_test.connector.manifest.heads_per_call) - 1
        streams = [await under_test.make_stream(n + 1) for n in range(count)]
        await under_test.settle()
        heads = await under_test.patiently(lambda: under_test.link.heads([*streams, "no-such-stream"]))
        expect(set(heads) == set(streams), f"asked for {streams} and an unknown one, got {sorted(heads)}")
        expect(all(is_head(head) for head in heads.values()), "streams with messages have heads")

    async def test_a_message_raises_the_head(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(2)
        await under_test.settle()
        before = await bound_of(under_test, stream)
        message = await under_test.post(stream, text="one more")
        await under_test.settle()
        after = await bound_of(under_test, stream)
        walk = await walk_stream(under_test, stream, limit=1)
        newest = walk.messages[0]
        expect(
            newest.key == message.key and after == newest.position + 1 > before,
            "the head is the newest message",
        )

    async def test_an_empty_stream_has_no_head(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(0)
        expect(await bound_of(under_test, stream) == 0, "an empty stream's head is None")

    async def test_reading_every_hole_finds_each_message_once(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(_FEW)
        await under_test.settle()
        walk = await walk_stream(under_test, stream, limit=_LIMIT)
        expect(len(walk.keys) == _FEW, f"{_FEW} messages were posted, {len(walk.keys)} were read")
        expect(len(set(walk.keys)) == _FEW, "no message is read twice")
        expect(walk.next_hole() is None, "everything below the head is proven")

    async def test_a_limit_above_the_page_size_does_not_look_like_the_end(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("streams")
        page_size = under_test.connector.manifest.page_size
        stream = await under_test.make_stream(page_size + 5)
        await under_test.settle()
        bound = await bound_of(under_test, stream)
        page = await read_page(under_test, stream, hole=Span(0, bound), bound=bound, limit=10 * page_size)
        expect(len(page.messages) <= page_size, "a page is no larger than the manifest says")
        expect(
            not page.exhausted and page.proven.start > 0, "a full page proves down to its last message only"
        )
        walk = await walk_stream(under_test, stream, limit=10 * page_size)
        expect(len(set(walk.keys)) == page_size + 5, "the rest is found behind the first page")

    async def test_bookmarks_lead_through_a_hole(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(_FEW)
        await under_test.settle()
        bound = await bound_of(under_test, stream)
        keys: list[str] = []
        bookmark = ""
        for _ in range(2 * _FEW):
            page = await read_page(
                under_test, stream, hole=Span(0, bound), bound=bound, limit=_LIMIT, bookmark=bookmark
            )
            keys.extend(message.key for message in page.messages)
            bookmark = page.bookmark
            if page.exhausted:
                break
        expect(len(keys) == len(set(keys)) == _FEW, "following the bookmarks finds each message once")

    async def test_only_the_hole_is_read(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        if under_test.allots:
            return  # Bookmarks say where a page begins, not positions.
        stream = await under_test.make_stream(9)
        await under_test.settle()
        walk = await walk_stream(under_test, stream, limit=100)
        positions = sorted(message.position for message in walk.messages)
        hole = Span(positions[2], positions[6])
        page = await read_page(under_test, stream, hole=hole, bound=walk.bound, limit=100)
        found = sorted(message.position for message in page.messages)
        expect(found == positions[2:6], "the start of a hole is in it, its end is not")

    async def test_a_hole_without_messages_is_proven(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        if under_test.allots:
            return  # The last page of a history proves what lies below it.
        stream = await under_test.make_stream(3)
        await under_test.settle()
        walk = await walk_stream(under_test, stream, limit=100)
        hole = Span(0, min(message.position for message in walk.messages))
        if hole.empty:
            return
        page = await read_page(under_test, stream, hole=hole, bound=walk.bound, limit=5)
        expect(
            page.messages == () and page.proven == hole and page.exhausted, "an empty page proves the hole"
        )

    async def test_a_lens_finds_its_kind_and_no_other(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(_FEW)
        await under_test.settle()
        everything = await walk_stream(under_test, stream, limit=100)
        for lens in under_test.connector.manifest.lenses:
            walk = await walk_stream(under_test, stream, limit=_LIMIT, lens=lens)
            wanted = {
                m.key for m in everything.messages if _in_lens(lens, [a.mime_type for a in m.attachments])
            }
            expect(sorted(walk.keys) == sorted(wanted), f"the lens {lens} finds what it should, once")

    async def test_young_messages_are_not_proven(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        if under_test.connector.manifest.settle_margin_s == 0:
            return
        stream = await under_test.make_stream(3)
        await under_test.settle()
        message = await under_test.post(stream, text="just now")
        bound = message.position + 1
        page = await read_page(under_test, stream, hole=Span(0, bound), bound=bound, limit=2)
        expect(message.position not in page.proven, "a message within the settle margin is never proven")
        await under_test.settle()
        page = await read_page(under_test, stream, hole=Span(0, bound), bound=bound, limit=2)
        expect(message.position in page.proven, "after the settle margin it is")

    async def test_a_deleted_head_leaves_no_gap(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(5)
        message = await under_test.post(stream, text="soon gone")
        await under_test.settle()
        bound = await bound_of(under_test, stream)
        await under_test.delete(stream, message.key)
        await under_test.settle()
        page = await read_page(under_test, stream, hole=Span(0, bound), bound=bound, limit=3)
        expect(page.proven.end == bound, "a range that was read to its end is proven, whatever it held")
        walk = await walk_stream(under_test, stream, limit=3)
        expect(
            message.key not in walk.keys and len(walk.keys) == 5, "the others are there, the deleted is not"
        )

    async def test_an_unknown_stream_is_gone(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        try:
            await read_page(under_test, "no-such-stream", hole=Span(0, 10), bound=10, limit=5)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library raises is what is judged here
            expect(isinstance(under_test.connector.classify(error), Gone), f"{error!r} should mean: gone")
        else:
            raise AssertionError("reading an unknown stream must fail")


def is_head(head: Head) -> bool:
    """Tell whether a head names a message."""
    return head.position is not None or head.key != ""


def _in_lens(lens: str, mime_types: list[str]) -> bool:
    pictures = [mime_type.startswith("image/") for mime_type in mime_types]
    return {"everything": True, "photos": any(pictures), "documents": not all(pictures)}[lens]
