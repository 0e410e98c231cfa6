"""The world of `headgate demo`: a small library that fills by itself.

It is a pure function of seed, opening time and the time that the clock shows. A demo that is stopped and
started again finds the same messages under the same positions, and those that came meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.kernel.clock import Clock
from headgate.testing.content.activity import PostingPace
from headgate.testing.content.seeds import derive_seed
from headgate.testing.content.showpieces import list_showpieces
from headgate.testing.content.themes import MAKERS
from headgate.testing.platform.places import Chapters
from headgate.testing.platform.profiles import Profile, telegram_like
from headgate.testing.platform.world import World

ACCOUNTS = ("atlas", "beacon")
_HISTORY = timedelta(days=45)
_KEPT_CALLS = 10_000

_TOPICS = ("General", "Announcements", "Requests", *MAKERS)
"""Collections have a topic for each maker."""


@dataclass(frozen=True)
class _Place:
    key: str
    title: str
    theme: str
    history: int
    """Bursts of messages before the demo opened."""
    live_per_hour: float
    topics: tuple[str, ...] = ()
    members: frozenset[str] | None = None


_PLACES = (
    _Place("forge", "Kestrel Forge Collective", "prints", 130, 20, topics=_TOPICS),
    _Place("miniatures", "Miniature Exchange", "prints", 58, 10),
    _Place("longexposure", "Long Exposure", "photos", 50, 8),
    _Place("panels", "Panels & Gutters", "comics", 50, 6),
    _Place("fieldnotes", "Field Recordings", "sounds", 32, 5, members=frozenset({"atlas"})),
    _Place("surfaces", "Surface Library", "textures", 32, 5),
    _Place("workshop", "Workshop Floor", "prints", 32, 6, members=frozenset({"beacon"})),
    _Place("attic", "The Attic (quiet)", "photos", 12, 0.4),
)
_LISTINGS = (
    ("salt-road", "Salt Road", 9),
    ("nine-lanterns", "Nine Lanterns", 26),
    ("harbour-lights", "Harbour Lights", 4),
)
_GROUPS = (
    "Print Club", "Evening Painters", "Terrain Builders", "Photo Walks", "Darkroom", "Comic Readers",
    "Inkers", "Sound Hunters", "Tape Loops", "Material Nerds", "Resin Room", "Filament Friends", "Beginners",
    "Night Shift", "Weekend Projects", "Trade Table", "Lost & Found", "Announcements", "Moderators",
    "Old Friends",
)  # fmt: skip


def build_demo_world(seed: int, clock: Clock, *, opened_at: datetime | None = None) -> World:
    """Return the demo's world; `opened_at` is the product time of the very first start (default: now)."""
    opened_at = clock.now() if opened_at is None else opened_at
    world = World(seed, clock, _demo_profile(), keep_calls=_KEPT_CALLS)
    for account in ACCOUNTS:
        world.add_account(account)
    for place in _PLACES:
        _add_place(world, place, opened_at)
    for piece in list_showpieces():
        posted_at = opened_at + piece.after
        deleted_at = posted_at + piece.deleted_after if piece.deleted_after else None
        world.post_at(piece.stream, piece.content, at=posted_at, album=piece.album, deleted_at=deleted_at)
    for key, title, hours in _LISTINGS:
        chapters = Chapters(derive_seed(seed, key), opened_at - _HISTORY, timedelta(hours=hours))
        world.add_listing(key, title=title, chapters=chapters)
    for n, title in enumerate(_GROUPS, 1):
        world.add_group(f"group-{n:02}", title=title)
    return world


def _demo_profile() -> Profile:
    """Return a platform that lags and lapses as the real ones do, but lets a demo read without floods.

    Files up to a chunk come at once, larger ones slowly enough to be watched.
    """
    return telegram_like.but(
        name="demo",
        flood_per_minute={},
        link_life_s=None,
        latency_s=0.05,
        chunk_bytes=2**20,
        chunk_s=0.75,
        qr_scanned_after_s=2,
    )


def _add_place(world: World, place: _Place, opened_at: datetime) -> None:
    members = None if place.members is None else set(place.members)
    world.add_stream(place.key, title=place.title, topics=place.topics, members=members)
    pace = PostingPace(
        history_since=opened_at - _HISTORY,
        opened_at=opened_at,
        history_per_hour=place.history / (_HISTORY / timedelta(hours=1)),
        live_per_hour=place.live_per_hour,
    )
    world.schedule(place.key, pace, theme=place.theme)
