"""What the simulated platform holds: accounts, streams, listings, groups, and the time."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from headgate.domain.streams.messages import UNPLACED, Message
from headgate.kernel.clock import Clock
from headgate.testing.content.seeds import derive, derive_seed
from headgate.testing.platform.call_log import CallLog
from headgate.testing.platform.errors import SimNotFound
from headgate.testing.platform.faults import NONE, FaultRates, Faults
from headgate.testing.platform.odd_answers import OnList, OnMessage, fetch_plainly, list_plainly
from headgate.testing.platform.places import Chapters, Listing, SimAccount, SimGroup, Upload
from headgate.testing.platform.profiles import Profile, plain
from headgate.testing.platform.sessions import Sessions
from headgate.testing.platform.streams.file_links import FileLinks
from headgate.testing.platform.streams.live import Connection
from headgate.testing.platform.streams.positions import COMPACT, SNOWFLAKE, PositionScale, to_ms
from headgate.testing.platform.streams.rows import Row, tell_message
from headgate.testing.platform.streams.stream import Stream
from headgate.testing.platform.timeline import Timeline

PointHook = Callable[[str], Awaitable[None]]


class PlatformState:
    """What is there, and how it is looked at; `World` adds what happens to it."""

    def __init__(
        self,
        seed: int,
        clock: Clock,
        profile: Profile = plain,
        *,
        rates: FaultRates = NONE,
        keep_calls: int | None = None,
    ) -> None:
        self.seed = seed
        self.clock = clock
        self.profile = profile
        self.faults = Faults(derive_seed(seed, "faults"), rates)
        self.log = CallLog(clock, keep_calls=keep_calls)
        self.links = FileLinks(profile.link_life_s)
        self.sessions = Sessions()
        self.on_point: PointHook | None = None
        """Called at every await of every call, so that a simulator can switch actors or crash there."""
        self.on_list: OnList = list_plainly
        self.on_message: OnMessage = fetch_plainly
        """What it answers, if otherwise than by itself."""
        self.accounts: dict[str, SimAccount] = {}
        self.streams: dict[str, Stream] = {}
        self.listings: dict[str, Listing] = {}
        self.groups: dict[str, SimGroup] = {}
        self.uploads: dict[str, Upload] = {}
        self.scanned_codes: set[str] = set()
        """QR codes of logins that a person has scanned, by their text."""
        self.timeline = Timeline(self.streams, now_ms=self.now_ms, sees=self.sees)
        self._connections_made = 0

    @property
    def now_ms(self) -> int:
        return to_ms(self.clock.now())

    def advance(self, now: datetime | None = None) -> None:
        """Let everything happen that was to happen until now."""
        self.timeline.advance(self.now_ms if now is None else to_ms(now))

    def add_account(self, name: str) -> SimAccount:
        shift = derive_seed(self.seed, "shift", name) % 1_000_000 * 2
        account = SimAccount(name, shift=shift if self.profile.position_scope == "account" else 0)
        self.accounts[name] = account
        return account

    def add_stream(
        self,
        key: str,
        *,
        title: str = "",
        topics: Sequence[str] = (),
        parent: str = "",
        members: set[str] | None = None,
    ) -> Stream:
        """Add a channel; with topics it is a forum."""
        stream = Stream(
            key=key,
            title=title or key,
            scale=self._scale_of_next(),
            choices=derive(self.seed, "stream", key),
            parent=parent,
            topics=list(topics),
            is_forum=bool(topics),
            members=members,
        )
        self.streams[key] = stream
        return stream

    def add_listing(
        self,
        key: str,
        *,
        title: str = "",
        chapters: Chapters | None = None,
        page_size: int = 20,
        host: str = "example.org",
    ) -> Listing:
        listing = Listing(key, title or key, page_size=page_size, chapters=chapters, host=host)
        self.listings[key] = listing
        return listing

    def add_group(self, key: str, *, title: str = "", members: set[str] | None = None) -> SimGroup:
        group = SimGroup(key, title or key, members=members)
        self.groups[key] = group
        return group

    def stream(self, key: str) -> Stream:
        if key not in self.streams:
            raise SimNotFound(f"there is no stream {key}")
        return self.streams[key]

    def row(self, stream: str, key: str) -> Row:
        row = self.stream(stream).row_at(int(key), now_ms=self.now_ms)
        if row is None:
            raise SimNotFound(f"there is no message {key} in {stream}")
        return row

    def sees(self, account: str, stream: Stream) -> bool:
        return stream.members is None or account in stream.members

    def seen_by(self, account: str, message: Message) -> Message:
        """Return a message with the position and key that an account sees."""
        position = message.position + self.accounts[account].shift
        return replace(message, position=UNPLACED if self.profile.allotted else position, key=str(position))

    def messages(self, stream: str) -> list[Message]:
        """Return what a stream holds now, oldest first, whether visible to searches yet or not."""
        rows = self.stream(stream).newest_first(now_ms=self.now_ms)
        told = [self.tell(row) for row in rows if not row.is_deleted(self.now_ms)]
        return told[::-1]

    def tell(self, row: Row, *, shift: int = 0, at_ms: int | None = None) -> Message:
        return tell_message(
            row,
            at_ms=self.now_ms if at_ms is None else at_ms,
            shift=shift,
            names_content=self.profile.names_content,
        )

    def digest(self) -> str:
        """Return a fingerprint of all that the world holds."""
        digest = hashlib.sha256()
        for key in sorted(self.streams):
            digest.update(repr((key, self.messages(key))).encode())
        for listing in self.listings.values():
            digest.update(repr((listing.key, listing.newest(self.clock.now()))).encode())
        for group in self.groups.values():
            digest.update(repr(group).encode())
        return digest.hexdigest()

    def connect(self, account: str) -> Connection:
        """Begin a live connection."""
        self._connections_made += 1
        choices = derive(self.seed, "connection", account, self._connections_made)
        connection = Connection(account, profile=self.profile, faults=self.faults, choices=choices)
        self.timeline.connections.append(connection)
        return connection

    def disconnect(self, account: str | None = None) -> None:
        """End the live connections of an account, or of all."""
        connections = self.timeline.connections
        self.timeline.end_connections([c for c in connections if account in (None, c.account)])

    def settled_end(self, stream: Stream) -> int:
        """Return the position below which everything is older than the settle margin."""
        settled_ms = self.now_ms - int(1000 * self.profile.settle_margin_s)
        newest = stream.newest_before(settled_ms, now_ms=self.now_ms)
        return max(stream.scale.first_of(settled_ms), newest.position + 1 if newest else 0)

    def _scale_of_next(self) -> PositionScale:
        if self.profile.positions == "mixed":
            return COMPACT if len(self.streams) % 2 else SNOWFLAKE
        return SNOWFLAKE if self.profile.positions == "snowflake" else COMPACT
