"""Heads and pages, as the simulated platform answers and its connector understands them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from headgate.domain.streams.coverage import proven_span
from headgate.domain.streams.messages import UNPLACED, Head, Lens, Page, Span
from headgate.testing.content.seeds import derive_seed
from headgate.testing.platform.errors import SimBadRequest
from headgate.testing.platform.places import SimAccount
from headgate.testing.platform.platform_state import PlatformState
from headgate.testing.platform.streams.rows import Row, matches_lens, write_row
from headgate.testing.platform.streams.stream import END, Stream


@dataclass(frozen=True)
class PageRequest:
    """What `read` was asked for."""

    lens: Lens
    hole: Span
    bound: int
    bookmark: str
    limit: int
    topic: str = ""
    """Only this topic's messages, as a forum can be searched; empty: all."""


def head_of(world: PlatformState, account: SimAccount, stream: Stream) -> Head:
    """Return the newest position that a search would tell of."""
    now_ms = world.now_ms
    for row in stream.newest_first(now_ms=now_ms):
        if row.is_visible(now_ms):
            return Head(row.position + account.shift, world.tell(row).sent_at)
        if world.profile.head_may_be_deleted and row.visible_ms <= now_ms:
            return Head(row.position + account.shift)
    return Head(None)


def page_of(world: PlatformState, account: SimAccount, stream: Stream, request: PageRequest) -> Page:
    """Return one page of a hole, newest first, and what it proves."""
    if request.lens not in world.profile.lenses or request.limit < 1:
        raise SimBadRequest(f"cannot read {request.limit} messages through {request.lens}")
    hole = request.hole
    asked = min(request.limit, world.profile.page_size)
    end = min(hole.end, request.bound)
    if request.bookmark:
        end = min(end, _open_bookmark(world, stream, request.bookmark))
    if end <= hole.start:
        return Page((), proven=Span(hole.start, hole.start), exhausted=True)
    rows = _find(world, account, stream, request, span=Span(hole.start, end), asked=asked)
    positions = [row.position + account.shift for row in rows]
    proven = proven_span(
        Span(hole.start, end),
        bound=request.bound,
        positions=positions,
        asked=asked,
        short_page_proves_bound=world.profile.short_page_proves_bound,
        settled_end=world.settled_end(stream) + account.shift,
    )
    exhausted = not positions or (len(positions) < asked and world.profile.short_page_proves_bound)
    garbled = {row.position for row in rows if row.garbled or world.faults.strikes("malformed", account.name)}
    for row in rows:
        world.links.give(account=account.name, stream=stream.key, position=row.position, now_ms=world.now_ms)
    return Page(
        messages=tuple(world.tell(row, shift=account.shift) for row in rows if row.position not in garbled),
        proven=proven,
        bookmark="" if exhausted else make_bookmark(world, stream, positions[-1]),
        exhausted=exhausted,
        unreadable=tuple(str(row.position + account.shift) for row in rows if row.position in garbled),
    )


def allotted_head_of(world: PlatformState, account: SimAccount, stream: Stream) -> Head:
    """Return the newest message, by its key, and where reading back from it begins."""
    head = head_of(world, account, stream)
    if head.position is None:
        return Head(None)
    bookmark = make_bookmark(world, stream, head.position + 1)
    return Head(None, head.sent_at, key=str(head.position), bookmark=bookmark)


def allotted_page_of(world: PlatformState, account: SimAccount, stream: Stream, request: PageRequest) -> Page:
    """Return the messages before a bookmark, or the newest, without their positions."""
    end = _open_bookmark(world, stream, request.bookmark) if request.bookmark else END
    whole = replace(request, hole=Span(0, end), bound=end, bookmark="")
    page = page_of(world, account, stream, whole)
    messages = tuple(replace(message, position=UNPLACED) for message in page.messages)
    nothing = Span(request.hole.end, request.hole.end)
    return replace(page, messages=messages, proven=nothing)


def _find(
    world: PlatformState, account: SimAccount, stream: Stream, request: PageRequest, *, span: Span, asked: int
) -> list[Row]:
    now_ms, lens = world.now_ms, request.lens
    start, end = max(0, span.start - account.shift), max(0, span.end - account.shift)
    found = (
        row
        for row in stream.newest_first(start=start, end=end, now_ms=now_ms)
        if request.topic in ("", row.topic)
        and row.is_visible(now_ms)
        and (lens == "everything" or matches_lens(write_row(row, at_ms=now_ms).files, lens))
    )
    return list(islice(found, asked))


def make_bookmark(world: PlatformState, stream: Stream, position: int) -> str:
    """Return what leads to the messages before a position."""
    if not world.profile.opaque_bookmarks:
        return str(position)
    return f"t{position ^ derive_seed(world.seed, 'bookmark', stream.key):016x}"


def _open_bookmark(world: PlatformState, stream: Stream, bookmark: str) -> int:
    try:
        if not world.profile.opaque_bookmarks:
            return int(bookmark)
        return int(bookmark.removeprefix("t"), 16) ^ derive_seed(world.seed, "bookmark", stream.key)
    except ValueError:
        raise SimBadRequest(f"{bookmark!r} is no bookmark of {stream.key}") from None
