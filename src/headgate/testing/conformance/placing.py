"""Places for messages where the platform has none to give, as intake allots them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headgate.domain.streams.messages import Head, LiveEvent, Page, Span
from headgate.domain.streams.placing import next_head, place_events, place_page


@dataclass
class Places:
    """What is known of one stream."""

    head: int | None = None
    known: dict[str, int] = field(default_factory=dict[str, int])
    bookmarks: dict[int, str] = field(default_factory=dict[int, str])
    """Where reading goes on below a position."""
    told_key: str = ""
    """The newest message that a head told of."""

    def bound_of(self, told: Head) -> int:
        """Return the position after the newest message."""
        if told.key not in {"", self.told_key} and told.key not in self.known:
            self.told_key = told.key
            self.head = next_head(self.head)
            self.bookmarks[self.head + 1] = told.bookmark
        return 0 if self.head is None else self.head + 1

    def hear(self, event: LiveEvent, *, continuous: bool) -> list[Span]:
        """Place what a live event tells; returns what it covers."""
        placed = place_events(self.head, [event], known=self.known, continuous=continuous)
        self.known.update(placed.new)
        self.bookmarks.update(placed.gaps)
        self.head = placed.head
        return [Span(position, position + 1) for position in placed.new.values()]

    def place(self, page: Page, *, hole: Span) -> Page:
        """Return a page with positions, and with what it proves."""
        keys = [*(message.key for message in page.messages), *page.unreadable]
        placed = place_page(hole, keys, known=self.known, exhausted=page.exhausted)
        self.known.update(placed.new)
        self.bookmarks[placed.proven.start] = page.bookmark
        messages = tuple(replace(message, position=self.known[message.key]) for message in page.messages)
        return replace(page, messages=messages, proven=placed.proven)
