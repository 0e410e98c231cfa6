"""What real platforms do, as numbers: a profile turns the one simulated platform into many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from headgate.connectors.protocol import CallKind, Capability, DedupeWindow, LaneDefault, Manifest
from headgate.domain.streams.messages import Lens
from headgate.kernel.randomness import Randomness

ALL_LENSES: tuple[Lens, ...] = ("documents", "photos", "everything")

_SAME_MESSAGE_FOR_AN_HOUR = DedupeWindow("same_message", 3600.0)
_LANES: Mapping[CallKind, LaneDefault] = MappingProxyType(
    {
        "heads": LaneDefault(per_minute=240, burst=10),
        "read": LaneDefault(per_minute=300, burst=20),
        "list": LaneDefault(per_minute=120, burst=10),
        "sweep": LaneDefault(per_minute=120, burst=10),
        "find": LaneDefault(per_minute=120, burst=10),
        "download": LaneDefault(per_minute=600, burst=30),
        "send": LaneDefault(per_minute=40),
        "upload": LaneDefault(per_minute=60),
        "prepare": LaneDefault(per_minute=240, burst=20),
    }
)


_CAPABILITIES: frozenset[Capability] = frozenset(
    {"streams", "live", "listings", "find", "download", "send", "forward", "bulk_heads"}
)
_SWEEPING: frozenset[Capability] = frozenset({"sweep"})


@dataclass(frozen=True)
class Profile:
    """How the simulated platform behaves when nothing is wrong."""

    name: str = "plain"
    live: Literal["proof", "hint"] = "proof"
    lenses: tuple[Lens, ...] = ALL_LENSES
    positions: Literal["snowflake", "compact", "mixed"] = "snowflake"
    position_scope: Literal["channel", "account"] = "channel"
    allotted: bool = False
    """Nobody outside the platform sees its positions: messages are told in order, and known by their keys."""
    timeline_limit: int = 3
    """Where positions are allotted: how many of the messages that a listener missed are told, by stream."""
    late_order_chance: float = 0.0
    late_order: int = 3
    """A message that reaches the platform late is shown before up to so many that came earlier."""

    settle_margin_s: float = 30.0
    search_lag_s: float = 0.0
    """A message is visible to `heads` and `read` only so long after it came; live events come at once."""
    disorder_s: float = 0.0
    """Visibility is put off by up to so much more, message by message: ids become visible out of order."""
    head_may_be_deleted: bool = False
    """`heads` may name a message that is deleted by now."""

    late_chance: float = 0.0
    late_s: float = 20.0
    """A late live event comes up to so much later than its message."""
    backdated_chance: float = 0.0
    future_chance: float = 0.0
    skew_s: float = 7200.0
    """A backdated or future-dated message claims a time that is up to so much wrong."""

    page_size: int = 100
    sweeps: bool = False
    """A host tells what is new in all of its listings at once."""
    heads_per_call: int = 100
    short_page_proves_bound: bool = True
    opaque_bookmarks: bool = False
    """Bookmarks are tokens of the platform; otherwise they are positions."""

    names_content: bool = True
    """Attachments carry the platform's name of their content, equal for reposts."""
    link_life_s: float | None = None
    """Downloads work so long after the message was fetched; None: always."""
    upload_max_bytes: int = 50_000_000
    media_life_s: float | None = None
    """Uploads can be sent for so long; None: always."""
    dedupe: DedupeWindow = _SAME_MESSAGE_FOR_AN_HOUR
    exclusive: bool = False
    """A session that is open in two places is destroyed for ever."""
    keyless_history: bool = False
    """A group's history shows texts and files, but not the keys of sends."""
    slow_mode_s: float = 0.0
    """A group takes one message of an account in so many seconds."""

    flood_per_minute: Mapping[CallKind, float] = field(default_factory=dict[CallKind, float])
    """Calls of an account in any 60 s after which the platform signals a flood."""
    lanes: Mapping[CallKind, LaneDefault] = field(default_factory=lambda: dict(_LANES))
    latency_s: float = 0.0
    upload_s: float = 0.0
    """An upload takes so much longer than other calls."""
    chunk_bytes: int = 16_384
    chunk_s: float = 0.0
    """Between two chunks of a download, so much time passes."""
    ranges: bool = True
    """A download can begin at any offset."""
    exact_sizes: bool = True
    """Sizes are the platform's own word."""
    qr_scanned_after_s: float | None = None
    """A QR code is scanned by itself so long after the first one was shown; None: somebody must scan it."""

    def __post_init__(self) -> None:
        if self.search_lag_s + self.disorder_s >= self.settle_margin_s > 0:
            raise ValueError(
                f"profile {self.name}: messages must become visible within the settle margin "
                f"({self.settle_margin_s:g} s), or no page could ever prove anything"
            )
        if self.settle_margin_s == 0 and self.search_lag_s + self.disorder_s > 0:
            raise ValueError(f"profile {self.name}: a search lag needs a settle margin")

    def but(self, **changes: object) -> Profile:
        """Return the same profile with some values changed."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType] - the names are checked at run time

    def draw_delay_ms(self, choices: Randomness) -> int:
        """Return how long a message stays invisible to `heads` and `read`."""
        return int(1000 * (self.search_lag_s + choices.uniform(0, self.disorder_s)))

    def draw_skew_ms(self, choices: Randomness) -> int:
        """Return how wrong the time is that a message claims for itself."""
        if choices.chance(self.backdated_chance):
            return -int(1000 * choices.uniform(0, self.skew_s))
        if choices.chance(self.future_chance):
            return int(1000 * choices.uniform(0, self.skew_s))
        return 0

    def latency_of(self, kind: str) -> float:
        """Return how long a call of a kind takes."""
        return self.latency_s + (self.upload_s if kind == "upload" else 0.0)

    def manifest(self) -> Manifest:
        """Return what a connector to such a platform says of itself."""
        return Manifest(
            platform="simulated",
            title="Simulated platform",
            capabilities=_CAPABILITIES | _SWEEPING if self.sweeps else _CAPABILITIES,
            licence="MIT",
            lenses=self.lenses,
            settle_margin_s=self.settle_margin_s,
            position_scope=self.position_scope,
            positions="allotted" if self.allotted else "platform",
            edit_window_s=0.0 if self.allotted else 172_800.0,
            live=self.live,
            exclusive=self.exclusive,
            short_page_proves_bound=self.short_page_proves_bound,
            heads_per_call=self.heads_per_call,
            page_size=self.page_size,
            dedupe=self.dedupe,
            ranges=self.ranges,
            exact_sizes=self.exact_sizes,
            upload_max_bytes=self.upload_max_bytes,
            lanes=self.lanes,
        )


plain = Profile()
"""No surprises: for tests that are about something else."""

telegram_like = Profile(
    name="telegram_like",
    live="hint",
    positions="mixed",
    search_lag_s=5.0,
    disorder_s=5.0,
    late_chance=0.05,
    short_page_proves_bound=False,
    link_life_s=3600.0,
    dedupe=DedupeWindow("error", 3600.0),
    flood_per_minute={"send": 60, "read": 1200, "heads": 600},
)

discord_like = Profile(
    name="discord_like",
    lenses=("everything",),
    heads_per_call=50,
    head_may_be_deleted=True,
    disorder_s=2.0,
    names_content=False,
    link_life_s=86_400.0,
    dedupe=DedupeWindow("same_message", 180.0),
    flood_per_minute={"send": 60, "read": 3000},
)

matrix_like = Profile(
    name="matrix_like",
    lenses=("everything",),
    positions="compact",
    allotted=True,
    late_order_chance=0.1,
    settle_margin_s=0.0,
    backdated_chance=0.2,
    future_chance=0.05,
    page_size=50,
    heads_per_call=20,
    opaque_bookmarks=True,
    exact_sizes=False,
    dedupe=DedupeWindow("same_message", 86_400.0),
    flood_per_minute={"send": 90},
)

basic_group_like = telegram_like.but(name="basic_group_like", position_scope="account", slow_mode_s=3.0)
"""Each account counts the messages of a group by itself, and may not hurry in it."""

session_like = telegram_like.but(name="session_like", exclusive=True)
"""The same, and a session must not be open in two places."""

hostile = Profile(
    name="hostile",
    live="hint",
    positions="mixed",
    search_lag_s=12.0,
    disorder_s=15.0,
    head_may_be_deleted=True,
    late_chance=0.3,
    late_s=60.0,
    backdated_chance=0.2,
    future_chance=0.2,
    page_size=7,
    heads_per_call=3,
    short_page_proves_bound=False,
    names_content=False,
    link_life_s=60.0,
    ranges=False,
    media_life_s=600.0,
    dedupe=DedupeWindow("none"),
    flood_per_minute={"send": 45},
)

keyless = plain.but(name="keyless", keyless_history=True)
"""Sends are found in a history by what they say; no preset, because simulations draw from those by seed."""

PRESETS: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (plain, telegram_like, discord_like, matrix_like, basic_group_like, hostile)
    }
)
