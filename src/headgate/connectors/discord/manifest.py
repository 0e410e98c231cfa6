"""What the connector says of itself."""

from __future__ import annotations

from headgate.connectors.protocol import DedupeWindow, LaneDefault, Manifest

PLATFORM = "discord"
PAGE_SIZE = 100
SETTLE_MARGIN_S = 5.0
"""Ids carry the time at which a server made them; two servers of Discord differ by far less than this."""

MANIFEST = Manifest(
    platform=PLATFORM,
    title="Discord",
    capabilities=frozenset({"streams", "live", "download", "send", "forward", "bulk_heads"}),
    licence="aiohttp: Apache-2.0 and MIT",
    settle_margin_s=SETTLE_MARGIN_S,
    live="proof",
    short_page_proves_bound=True,
    heads_per_call=100,
    page_size=PAGE_SIZE,
    edit_window_s=172_800.0,
    # "The past few minutes", say Discord's documents of `enforce_nonce`; two is the least that can mean.
    dedupe=DedupeWindow("same_message", 120.0),
    # 10 MiB without boosts, together with the rest of the request.
    upload_max_bytes=10_000_000,
    # A bot may make 50 calls a second in all, and each channel takes five messages in five seconds.
    lanes={
        "heads": LaneDefault(per_minute=60, burst=5, shared="api"),
        "read": LaneDefault(per_minute=300, burst=10, shared="api"),
        "send": LaneDefault(per_minute=50, burst=5, shared="api"),
        "upload": LaneDefault(per_minute=600, burst=30),
        "download": LaneDefault(per_minute=600, burst=30),
    },
)
