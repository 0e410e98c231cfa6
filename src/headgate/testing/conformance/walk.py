"""Reading a stream as intake does: hole by hole, from what the pages prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.domain.streams.messages import Lens, Message, Page, Span
from headgate.testing.conformance.harness import ConnectorUnderTest, expect

_MAX_PAGES = 500


@dataclass
class Walk:
    """What a reading found and proved."""

    bound: int
    pages: list[Page] = field(default_factory=list[Page])
    proven: list[Span] = field(default_factory=list[Span])

    @property
    def messages(self) -> list[Message]:
        return [message for page in self.pages for message in page.messages]

    @property
    def keys(self) -> list[str]:
        return [message.key for message in self.messages]

    def next_hole(self) -> Span | None:
        """Return the newest range below the bound that is not proven yet."""
        end = self.bound
        for span in sorted(self.proven, reverse=True):
            if span.end < end:
                return Span(span.end, end)
            end = min(end, span.start)
        return Span(0, end) if end > 0 else None


async def bound_of(under_test: ConnectorUnderTest, stream: str) -> int:
    """Return the head plus one, or 0 for an empty stream."""
    heads = await under_test.patiently(lambda: under_test.link.heads([stream]))
    expect(stream in heads, f"`heads` leaves out {stream}, which exists")
    if under_test.allots:
        return under_test.places(stream).bound_of(heads[stream])
    position = heads[stream].position
    return 0 if position is None else position + 1


async def read_page(
    under_test: ConnectorUnderTest,
    stream: str,
    *,
    hole: Span,
    bound: int,
    limit: int,
    lens: Lens = "everything",
    bookmark: str = "",
) -> Page:
    """Read one page, and check what holds of every page."""
    if under_test.allots and not bookmark:
        bookmark = under_test.places(stream).bookmarks.get(hole.end, "")
    page = await under_test.patiently(
        lambda: under_test.link.read(
            stream, lens=lens, hole=hole, bound=bound, bookmark=bookmark, limit=limit
        )
    )
    if under_test.allots:
        page = under_test.places(stream).place(page, hole=hole)
    check_page(page, hole=hole, bound=bound, limit=limit)
    return page


def check_page(page: Page, *, hole: Span, bound: int, limit: int) -> None:
    positions = [message.position for message in page.messages]
    expect(len(positions) <= limit, f"asked for {limit} messages, got {len(positions)}")
    expect(all(type(position) is int for position in positions), "positions are whole numbers")
    expect(positions == sorted(positions, reverse=True), "a page comes newest first")
    expect(len(set(positions)) == len(positions), "no position comes twice in a page")
    expect(
        all(p in hole and p < bound for p in positions), "nothing from outside the hole, nor above the bound"
    )
    inside = page.proven.start >= hole.start and page.proven.end <= min(hole.end, max(bound, hole.start))
    expect(page.proven.empty or inside, f"{page.proven} proves more than was asked for: {hole} below {bound}")


async def walk_stream(
    under_test: ConnectorUnderTest, stream: str, *, limit: int, lens: Lens = "everything"
) -> Walk:
    """Read all holes of a stream until everything below its head is proven."""
    walk = Walk(await bound_of(under_test, stream))
    while (hole := walk.next_hole()) is not None:
        page = await read_page(under_test, stream, hole=hole, bound=walk.bound, limit=limit, lens=lens)
        expect(not page.proven.empty, f"a settled page of {hole} proves nothing, so reading would never end")
        walk.pages.append(page)
        walk.proven.append(page.proven)
        expect(len(walk.pages) <= _MAX_PAGES, "reading does not come to an end")
    return walk


def covers(spans: Sequence[Span], position: int) -> bool:
    return any(position in span for span in spans)
