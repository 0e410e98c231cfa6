"""What the connector says of itself."""

from __future__ import annotations

from headgate.connectors.protocol import LaneDefault, Manifest

PLATFORM = "mangadex"

# The site allows about five requests a second from one address, whatever they ask for.
_PACE = LaneDefault(per_minute=240, burst=5, shared="api")

MANIFEST = Manifest(
    platform=PLATFORM,
    title="MangaDex",
    capabilities=frozenset({"listings", "sweep", "find", "anonymous"}),
    licence="BSD-3-Clause",
    settle_margin_s=60.0,
    page_size=100,
    lanes={"list": _PACE, "sweep": _PACE, "find": _PACE},
)
