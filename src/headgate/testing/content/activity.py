"""Messages that come by themselves: a pure function of seed and time.

Time is cut into buckets. What is in a bucket depends on its number alone, so a world that is opened again
after weeks has the same messages under the same positions, and makes only the buckets that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from headgate.kernel.randomness import Randomness
from headgate.testing.content.content import Generated, Shape
from headgate.testing.content.seeds import derive, derive_seed
from headgate.testing.content.themes import MAKERS
from headgate.testing.platform.profiles import Profile
from headgate.testing.platform.streams.positions import PositionScale, to_ms
from headgate.testing.platform.streams.rows import Row

BUCKET_MS = 3_600_000
LOOK_BACK_MS = BUCKET_MS
"""Edits and deletions of a scheduled message come within this time."""
_KEPT_BUCKETS = 2048
_BURST_MS = 90_000
_REPOST_CHANCE = 0.03
_FAVOURITES = 4

_SINGLES: tuple[Shape, ...] = (
    "archive",
    "archive",
    "archive",
    "picture",
    "clip",
    "text",
    "text",
    "document",
    "link",
)
_MODELS: tuple[Shape, ...] = ("model", "model", "model")
"""What libraries of prints have besides."""


@dataclass(frozen=True)
class PostingPace:
    """How much comes in a stream: some history, then a steady trickle."""

    history_since: datetime
    opened_at: datetime
    history_per_hour: float
    live_per_hour: float

    def per_hour(self, at_ms: int) -> float:
        """Return the pace of the bucket that begins at a time; the one of the opening is lively already."""
        before = at_ms + BUCKET_MS <= to_ms(self.opened_at)
        return self.history_per_hour if before else self.live_per_hour


@dataclass
class Activity:
    """The scheduled messages of one stream."""

    seed: int
    scale: PositionScale
    pace: PostingPace
    profile: Profile
    theme: str
    topics: tuple[str, ...] = ()
    _buckets: dict[int, tuple[Row, ...]] = field(default_factory=dict[int, tuple[Row, ...]])

    @property
    def buckets_made(self) -> int:
        """How many buckets are in memory."""
        return len(self._buckets)

    def bucket(self, number: int) -> tuple[Row, ...]:
        """Return the messages of a bucket, oldest first."""
        if number not in self._buckets:
            if len(self._buckets) >= _KEPT_BUCKETS:
                self._buckets.clear()
            rows = {row.position: row for row in self._make_bucket(number)}
            self._buckets[number] = tuple(rows[position] for position in sorted(rows))
        return self._buckets[number]

    def newest_first(self, *, start: int, end: int, now_ms: int) -> Iterator[Row]:
        """Go through what has arrived in a range of positions, from its end."""
        first = max(to_ms(self.pace.history_since), self.scale.ms_of(start)) // BUCKET_MS
        last = min(now_ms, self.scale.ms_of(end)) // BUCKET_MS
        for number in range(last, first - 1, -1):
            for row in reversed(self.bucket(number)):
                if start <= row.position < end and row.arrived_ms <= now_ms:
                    yield row

    def arrived(self, *, after_ms: int, until_ms: int) -> Iterator[Row]:
        """Go through what arrives in a stretch of time, oldest first."""
        first = max(to_ms(self.pace.history_since), after_ms) // BUCKET_MS
        for number in range(first, until_ms // BUCKET_MS + 1):
            for row in self.bucket(number):
                if after_ms < row.arrived_ms <= until_ms:
                    yield row

    def next_ms(self, after_ms: int) -> int:
        """Return when to look again: the next arrival, edit or deletion, or the end of the next bucket."""
        horizon = (after_ms // BUCKET_MS + 2) * BUCKET_MS
        times = (
            at_ms
            for row in self.arrived(after_ms=after_ms - LOOK_BACK_MS, until_ms=horizon)
            for at_ms in (row.arrived_ms, row.edited_ms, row.deleted_ms)
            if at_ms is not None and at_ms > after_ms
        )
        return min(times, default=horizon)

    def _make_bucket(self, number: int) -> Iterator[Row]:
        start_ms = number * BUCKET_MS
        if start_ms + BUCKET_MS <= to_ms(self.pace.history_since):
            return
        choices = derive(self.seed, "bucket", number)
        wanted = self.pace.per_hour(start_ms)
        bursts = int(wanted) + choices.chance(wanted % 1)
        room_ms = (BUCKET_MS - _BURST_MS) // max(1, bursts)
        for burst in range(bursts):
            yield from self._make_burst(choices, start_ms + burst * room_ms + choices.below(room_ms // 2))

    def _make_burst(self, choices: Randomness, at_ms: int) -> Iterator[Row]:
        topic = choices.choice(self.topics) if self.topics else ""
        seed = choices.bits(60)
        if choices.chance(_REPOST_CHANCE):
            favourite = derive_seed(self.seed, "favourite", choices.below(_FAVOURITES))
            yield self._row(choices, at_ms, self._content("archive", favourite, topic), topic)
        elif choices.chance(0.08):
            yield from self._make_many(choices, "picture", at_ms, topic, seed, count=2 + choices.below(5))
        elif choices.chance(0.05):
            yield from self._make_many(choices, "part", at_ms, topic, seed, count=2 + choices.below(12))
        else:
            singles = (*_SINGLES, *_MODELS) if self.theme == "prints" else _SINGLES
            content = self._content(choices.choice(singles), seed, topic)
            row = self._row(choices, at_ms, content, topic)
            _schedule_changes(choices, row)
            yield row

    def _make_many(
        self, choices: Randomness, shape: Shape, at_ms: int, topic: str, seed: int, *, count: int
    ) -> Iterator[Row]:
        """Make an album, or a multi-part set, which spans albums of at most ten."""
        for part in range(1, count + 1):
            row = self._row(choices, at_ms, self._content(shape, seed, topic, part=part, parts=count), topic)
            row.album = f"{seed}-{(part - 1) // 10}"
            yield row
            at_ms += 1_000 + choices.below(4_000)

    def _content(self, shape: Shape, seed: int, topic: str, *, part: int = 0, parts: int = 0) -> Generated:
        """Return what a message holds; a topic with a maker's name has what that maker made."""
        return Generated(shape, seed, self.theme, part, parts, topic if topic in MAKERS else "")

    def _row(self, choices: Randomness, at_ms: int, content: Generated, topic: str) -> Row:
        # Scheduled messages have odd positions and posted ones even, so that they never meet.
        position = self.scale.first_of(at_ms) + choices.below(self.scale.per_ms) | 1
        return Row(
            position=position,
            arrived_ms=at_ms,
            content=content,
            topic=topic,
            skew_ms=self.profile.draw_skew_ms(choices),
            visible_ms=at_ms + self.profile.draw_delay_ms(choices),
        )


def _schedule_changes(choices: Randomness, row: Row) -> None:
    content = row.content
    if not isinstance(content, Generated):
        return
    if choices.chance(0.04):
        row.edited_ms = row.arrived_ms + 30_000 + choices.below(LOOK_BACK_MS // 2)
        gained = "archive" if content.shape == "text" else content.shape
        row.edited_content = Generated(gained, content.seed ^ 1, content.theme, maker=content.maker)
    if choices.chance(0.02):
        row.deleted_ms = row.arrived_ms + 60_000 + choices.below(LOOK_BACK_MS // 2)
