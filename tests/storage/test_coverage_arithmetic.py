"""The database's arithmetic on coverage, against the rules in plain Python and against sets of positions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.domain.streams.coverage import Hole, merge, uncovered, what_is_left
from headgate.domain.streams.messages import Lens, Span
from headgate.storage.database import Database, Tx
from headgate.storage.streams import streams
from headgate.storage.streams.scans import Direction

FULL = os.environ.get("HEADGATE_TEST_FULL") == "1"

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MAX = 60
few = settings(
    max_examples=100 if FULL else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

SPAN = st.tuples(st.integers(0, MAX), st.integers(0, 15)).map(lambda pair: Span(pair[0], sum(pair)))
SPANS = st.lists(SPAN, max_size=6)
LENSES: st.SearchStrategy[Lens] = st.sampled_from(("documents", "photos", "everything"))
WANTED: st.SearchStrategy[tuple[Lens, ...]] = st.sampled_from(
    (("documents",), ("documents", "photos"), ("everything",))
)


@dataclass(frozen=True)
class Reading:
    """What was read of a stream, what failed, and what is wanted of it."""

    covered: dict[Lens, list[Span]]
    waiting: list[tuple[Lens, Span]]
    """Holes that are not to be tried yet."""
    lenses: Sequence[Lens]
    floor: int
    bound: int

    def covered_through(self, lens: Lens) -> list[Span]:
        return [*self.covered.get(lens, []), *self.covered.get("everything", [])]

    def to_read(self, lens: Lens) -> set[int]:
        """Return the positions, the simplest way that there is."""
        left = set(range(self.floor, self.bound)) - positions(self.covered_through(lens))
        return left - positions([span for of, span in self.waiting if of == lens])

    def holes(self, direction: Direction = "both") -> list[Hole]:
        """Return the holes in the order in which they are read."""
        found = [
            Hole(lens, span)
            for lens in self.lenses
            for span in merge(Span(position, position + 1) for position in self.to_read(lens))
            if self._lies(span, lens, direction)
        ]
        return sorted(found, key=lambda hole: (-hole.span.end, hole.lens))

    def _lies(self, span: Span, lens: Lens, direction: Direction) -> bool:
        covered = merge(self.covered_through(lens))
        if direction == "both" or not covered:
            return True
        return (span.end > covered[0].start) == (direction == "forward")


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    return Reading(
        covered=draw(st.dictionaries(LENSES, SPANS, min_size=1)),
        waiting=draw(st.lists(st.tuples(LENSES, SPAN.filter(lambda span: not span.empty)), max_size=4)),
        lenses=draw(WANTED),
        floor=draw(st.integers(0, 20)),
        bound=draw(st.integers(0, MAX + 20)),
    )


def positions(spans: Sequence[Span]) -> set[int]:
    return {position for span in spans for position in range(span.start, span.end)}


async def add_stream(tx: Tx, reading: Reading | None = None) -> UUID:
    """Add a stream in the state of the reading."""
    channel_id = uuid4()
    await tx.raw(
        "insert into channel (id, platform, key, kind, title, created_at)"
        " values ($1, 'simulated', $2, 'stream', '', $3)",
        (channel_id, str(channel_id), NOW),
    )
    if reading is None:
        await tx.raw("insert into stream (channel_id) values ($1)", (channel_id,))
        return channel_id
    await tx.raw(
        "insert into stream (channel_id, floor, head, lenses) values ($1, $2, $3, $4)",
        (channel_id, reading.floor, reading.bound - 1, list(reading.lenses)),
    )
    for lens, spans in reading.covered.items():
        await streams.cover(tx, channel_id, lens=lens, spans=spans)
    for lens, span in reading.waiting:
        await streams.note_hole(
            tx,
            channel_id,
            Hole(lens, span),
            attempts=1,
            next_try_at=NOW + timedelta(seconds=1),
            error_class="Transient",
            error_message="no answer",
            now=NOW,
        )
    return channel_id


async def spans_of(tx: Tx, multirange: str, arguments: Sequence[object]) -> list[Span]:
    rows = await tx.raw(
        f"select lower(part) as start, upper(part) as end from unnest({multirange}) as part order by 1",
        arguments,
    )
    return [Span(row["start"], row["end"]) for row in rows]


async def covered_of(tx: Tx, channel_id: UUID, lens: Lens = "everything") -> list[Span]:
    stored = "(select ranges from coverage where channel_id = $1 and lens = $2)"
    return await spans_of(tx, stored, (channel_id, lens))


@few
@given(spans=SPANS)
async def test_merging_is_what_the_database_adds_up(database: Database, spans: list[Span]) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx)
        await streams.cover(tx, channel_id, lens="everything", spans=spans)
        assert await covered_of(tx, channel_id) == merge(spans)


@few
@given(
    batches=st.lists(SPANS, max_size=4).flatmap(
        lambda batches: st.tuples(st.just(batches), st.permutations([*batches, *batches[::2]]))
    )
)
async def test_covering_in_any_order_and_repeatedly_gives_the_same(
    database: Database, batches: tuple[list[list[Span]], list[list[Span]]]
) -> None:
    once, shuffled = batches
    async with database.transaction() as tx:
        channel_id = await add_stream(tx)
        for batch in shuffled:
            await streams.cover(tx, channel_id, lens="everything", spans=batch)
        assert (await covered_of(tx, channel_id) if shuffled else []) == merge(
            span for batch in once for span in batch
        )


@few
@given(reading=readings(), lens=LENSES)
async def test_what_is_uncovered_is_the_same_in_the_database(
    database: Database, reading: Reading, lens: Lens
) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        stored = await spans_of(
            tx, "headgate_uncovered($1, $2, $3, $4)", (channel_id, lens, reading.floor, reading.bound)
        )
    covered = reading.covered_through(lens)
    assert stored == uncovered(covered, floor=reading.floor, bound=reading.bound)
    assert positions(stored) == set(range(reading.floor, reading.bound)) - positions(covered)


@few
@given(
    reading=readings(),
    direction=st.sampled_from(("both", "forward", "backward")),
    below=st.none() | st.integers(0, 120),
)
async def test_holes_come_newest_first_without_those_that_are_too_young(
    database: Database, reading: Reading, direction: Direction, below: int | None
) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        listed, old = [
            await streams.list_holes(
                tx, channel_id, bound=reading.bound, direction=direction, now=NOW, below=limit
            )
            for limit in (None, below)
        ]
    everything = reading.holes(direction)
    assert listed == everything[: len(listed)]
    # The newest few are enough to tell what is left.
    assert what_is_left(listed, bound=reading.bound) == what_is_left(everything, bound=reading.bound)
    settled = [hole for hole in everything if below is None or hole.span.end <= below]
    assert old == settled[: len(old)]
    assert bool(old) == bool(settled)


@few
@given(reading=readings())
async def test_forward_and_backward_are_the_two_halves_of_all(database: Database, reading: Reading) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        both, forward, backward = [
            await streams.list_holes(
                tx, channel_id, bound=reading.bound, direction=direction, now=NOW, limit=100
            )
            for direction in ("both", "forward", "backward")
        ]
    assert set(both) == {*forward, *backward}
    # Before anything was read each of them is all of it.
    read = [lens for lens in reading.lenses if merge(reading.covered_through(lens))]
    assert {hole.lens for hole in {*forward} & {*backward}}.isdisjoint(read)


@few
@given(reading=readings())
async def test_a_stream_is_behind_while_something_may_be_read(database: Database, reading: Reading) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        checked = (await streams.check_streams(tx, [channel_id], now=NOW))[channel_id]
        later = (await streams.check_streams(tx, [channel_id], now=NOW + timedelta(hours=1)))[channel_id]
    left = what_is_left(reading.holes(), bound=reading.bound)
    assert checked.behind == (left.tip or left.inner)
    assert later.behind >= checked.behind
    assert checked.failing == bool(reading.waiting)


@few
@given(reading=readings(), asked=st.frozensets(st.integers(0, MAX + 20), max_size=10))
async def test_a_message_is_unread_until_its_lens_or_the_widest_has_covered_it(
    database: Database, reading: Reading, asked: frozenset[int]
) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        lens = reading.lenses[0]
        keys = {position: str(position) for position in sorted(asked)}
        unread = await streams.list_unread(tx, channel_id, keys, lens=lens)
    covering = [reading.covered.get(each, []) for each in (lens, "everything")]
    assert set(unread) == asked - positions([span for spans in covering for span in spans])
    assert all(unread.values())


@few
@given(reading=readings(), read=SPAN)
async def test_what_was_read_is_no_failed_hole_any_more(
    database: Database, reading: Reading, read: Span
) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx, reading)
        lens = reading.lenses[0]
        await streams.cover(tx, channel_id, lens=lens, spans=[read])
        rows = await tx.raw(
            "select lower(span) as start, upper(span) as end from hole where channel_id = $1 and lens = $2",
            (channel_id, lens),
        )
    assert all(positions([Span(row["start"], row["end"])]).isdisjoint(positions([read])) for row in rows)


@pytest.mark.parametrize("position", [2**53 + 1, 2**62, 2**63 - 3])
async def test_positions_beyond_what_a_float_holds_are_exact(database: Database, position: int) -> None:
    async with database.transaction() as tx:
        channel_id = await add_stream(tx)
        await streams.cover(tx, channel_id, lens="everything", spans=[Span(position, position + 1)])
        assert await covered_of(tx, channel_id) == [Span(position, position + 1)]
        keys = {place: str(place) for place in (position - 1, position, position + 1)}
        unread = await streams.list_unread(tx, channel_id, keys, lens="documents")
        assert unread.keys() == {position - 1, position + 1}
