"""What a connector says of itself, and what it can do.

A connector does the parts its platform has; `Manifest.capabilities` says which, and the conformance
suite (`headgate.testing.conformance`) holds it to that. Every method may raise anything: `classify` turns
a library's exception into one of our errors, and is the only place that knows them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from headgate.connectors.login_steps import LoginAttempt, LoginStep
from headgate.domain.errors import WorkError
from headgate.domain.listings.listings import Listed, Swept
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span

Capability = Literal[
    "streams", "live", "listings", "sweep", "find", "anonymous", "download", "send", "forward", "bulk_heads"
]
CallKind = Literal["heads", "read", "list", "sweep", "find", "download", "send", "upload", "prepare"]


@dataclass(frozen=True)
class DedupeWindow:
    """What happens when a send is repeated with the same key.

    `same_message`: the first message comes back, within the window. `error`: the repeat is refused with a
    duplicate error, which proves that the first happened. `none`: the platform cannot tell.
    """

    kind: Literal["same_message", "error", "none"]
    window_s: float = 0.0


@dataclass(frozen=True)
class LaneDefault:
    """The pace of one kind of call, and the budgets that it shares with other kinds."""

    per_minute: float
    burst: int = 3
    daily_cap: int | None = None
    shared: str = ""
    """Name of a budget that the platform counts together for several kinds; empty: its own only."""


@dataclass(frozen=True)
class Manifest:
    """What a connector says of itself."""

    platform: str
    title: str
    capabilities: frozenset[Capability]
    licence: str
    lenses: tuple[Lens, ...] = ("everything",)
    settle_margin_s: float = 30.0
    """Messages younger than this may still become visible out of order; no page proves them."""
    position_scope: Literal["channel", "account"] = "channel"
    positions: Literal["platform", "allotted"] = "platform"
    """`allotted`: the platform has no usable numbers, and intake places messages as they arrive."""
    live: Literal["proof", "hint", "none"] = "none"
    short_page_proves_bound: bool = False
    """A page with fewer messages than asked for proves everything up to the bound."""
    exclusive: bool = False
    """A session must never be open in two places: one process at a time holds an account, and opens it.

    Everything that sends goes through calls of the link, which stop when the hold ends; `close` is quick.
    """
    heads_per_call: int = 1
    discover_every_s: float = 21_600.0
    """How often an account's channels are listed again, to notice new, renamed and vanished ones."""
    edit_window_s: float = 172_800.0
    """After a gap in listening, messages up to this age are reread for edits; 0: no message can be edited."""
    page_size: int = 100
    dedupe: DedupeWindow = DedupeWindow("none")
    ranges: bool = True
    """A download can begin at any offset; otherwise only at 0, and one that is broken off begins again."""
    exact_sizes: bool = True
    """The sizes of files are the platform's own; otherwise whoever sent them claims them."""
    upload_max_bytes: int = 50_000_000
    """The largest file that the platform takes in one upload; larger ones are sent in pieces."""
    lanes: Mapping[CallKind, LaneDefault] = field(default_factory=dict[CallKind, LaneDefault])
    signs_in: bool = True
    """People sign accounts in; otherwise its accounts need no login and are made when they are needed."""


@dataclass(frozen=True)
class FoundChannel:
    """A channel that an account can see."""

    key: str
    title: str
    kind: Literal["stream", "listing", "target"]
    parent: str = ""
    topics: tuple[str, ...] = ()
    is_series: bool = False
    """A listing whose entries are the chapters of one work."""
    continues: str = ""
    """Key of the stream that this one goes on from (a migrated group); empty for most."""
    parent_title: str = ""
    """What people call the parent; empty where its key is the name."""


@dataclass(frozen=True)
class Part:
    """One message to send: a text, or an uploaded file with an optional text."""

    text: str = ""
    media: str = ""
    """Handle from `upload`; empty for a plain text."""


@dataclass(frozen=True)
class OutgoingFile:
    """A file to upload; it is read in chunks, because it may be larger than memory."""

    name: str
    mime_type: str
    size_bytes: int
    read: Callable[[], AsyncIterator[bytes]]
    """Yields exactly `size_bytes` bytes; each call starts again at the first one."""

    @classmethod
    def of(cls, name: str, mime_type: str, content: bytes) -> OutgoingFile:
        """Return a file whose content is in memory."""

        async def read() -> AsyncIterator[bytes]:
            yield content

        return cls(name, mime_type, len(content), read)


@dataclass(frozen=True)
class MediaHandle:
    """An upload that can be sent many times until it lapses."""

    handle: str
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Sent:
    """Proof that a message was sent."""

    key: str
    """Its identity in the target; empty where the platform only refused a repeat."""
    sent_at: datetime


class Memory(Protocol):
    """What a connector remembers of an account, wherever and however often it is opened."""

    @property
    def values(self) -> Mapping[str, str]:
        """What was saved, by name."""
        ...

    async def save(self, changes: Mapping[str, str]) -> None:
        """Remember values; an empty one is forgotten."""
        ...

    async def renew_secrets(self, secrets: Mapping[str, str]) -> None:
        """Replace what opens the account, when the platform has renewed it."""
        ...


class Link(Protocol):
    """One account's open connection to its platform."""

    async def discover(self) -> Sequence[FoundChannel]:
        """Return the channels and targets that the account can see."""
        ...

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        """Return the newest position of each stream, in one call; unknown ones are left out."""
        ...

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        """Read one page of a hole, newest first; `bound` is the head fetched before, plus one.

        The connector states what the page proves (`domain.streams.coverage.proven_span`), because only it
        knows its page size, its guarantees and the age of a position. A page may hold messages and yet prove
        nothing: all of them are younger than the settle margin. `bookmark` is empty, or that of an earlier
        page of the same hole: then the page goes on below it.

        Where positions are allotted, the page begins at the bookmark, or at the newest message without one,
        whatever the hole is; `exhausted` means that the history begins here.
        """
        ...

    async def message(self, stream: str, key: str) -> Message | None:
        """Return one message again, or nothing if it was deleted."""
        ...

    def listen(self) -> AsyncIterator[LiveEvent]:
        """Yield what happens, until the connection ends: the iterator ends, or raises.

        Each call is a new connection; what it proves does not reach back into an earlier one.
        """
        ...

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        """Return the newest entries of a listing, or a part of them, in one call."""
        ...

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        """Return what is new on a whole site since the cursor, in one call; an empty cursor begins now.

        Only called where the manifest claims `sweep`. What is told twice does no harm; what is left out is
        not noticed until the listing itself is polled.
        """
        ...

    async def find(self, query: str) -> Sequence[FoundChannel]:
        """Return the channels that a person may mean by a name or an address, the likeliest first.

        Only called where the manifest claims `find`. Nothing found is an empty answer, no error.
        """
        ...

    def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        """Yield the bytes of an attachment from an offset on; 0 alone where the manifest has no `ranges`.

        It ends when the last byte has come. Where sizes are exact it may also just end in the middle: the
        size tells. Where they are only claimed, what breaks it off must be an error.
        """
        ...

    async def prepare(self, target: str) -> None:
        """Do what the platform needs once before sends to a target.

        Only called where the manifest has a lane of this kind: without one nothing needs to be prepared.
        """
        ...

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        """Upload once what will be sent many times; at most `upload_max_bytes` of the manifest."""
        ...

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        """Send one message; the same key again within the dedupe window sends nothing new."""
        ...

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        """Send a message on to a target without a new upload; the key is as in `send`."""
        ...

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        """Look for a message of ours in the target's history; None also where that cannot be told.

        By its key where the history shows it, else by `recognise` alone: a content that another send may
        have, too, proves nothing.
        """
        ...

    async def close(self) -> None: ...


@runtime_checkable
class PlacingLink(Protocol):
    """A link whose files are on this machine and can be read where they lie."""

    in_place: bool
    """Whether they are; otherwise they are copied."""

    async def place(self, stream: str, *, message_key: str) -> str | None:
        """Return the object name of a file (`domain.library.places`); None if it is to be copied."""
        ...


class Connector(Protocol):
    """A platform's entry: what it is, and how to open an account on it."""

    @property
    def manifest(self) -> Manifest: ...

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        """Take one step of a login: ask, wait, show something, or return what opens the account.

        Without answers, state and action it is the first step. A wrong answer is an error that classifies as
        `AuthFailed`; the person may then answer the same question again, with the state of before.
        """
        ...

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        """End the session on the platform; one that has ended already is no error."""
        ...

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        """Open the connection of one account."""
        ...

    def host_of(self, listing: str) -> str:
        """Return the host that answers for a listing: what is paced and, when it fails, left alone as one.

        For a platform with `sweep` it is the site that a sweep tells of.
        """
        ...

    def key_of(self, listing: str) -> str:
        """Return the one name of a listing, however a person has written it."""
        return listing.strip()

    def owns(self, address: str) -> bool:
        """Tell whether a web address leads to the platform itself."""
        return False

    def classify(self, error: BaseException) -> WorkError:
        """Turn an exception of the platform's library into one of our errors."""
        ...
