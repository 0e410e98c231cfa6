"""What the connector says of itself."""

from __future__ import annotations

from headgate.connectors.protocol import DedupeWindow, LaneDefault, Manifest

PLATFORM = "matrix"
PAGE_SIZE = 100
HEADS_PER_CALL = 50

# Synapse takes 12 messages a minute and a burst of 10 by default; matrix.org is no more generous.
_SEND = LaneDefault(per_minute=10, burst=5)

MANIFEST = Manifest(
    platform=PLATFORM,
    title="Matrix",
    capabilities=frozenset({"streams", "bulk_heads", "live", "download", "send", "forward"}),
    licence="ISC",
    # Positions are allotted, so a message that appears late is placed when it appears.
    settle_margin_s=0.0,
    positions="allotted",
    live="proof",
    heads_per_call=HEADS_PER_CALL,
    page_size=PAGE_SIZE,
    # Servers remember the transactions of a device for at least half an hour; Synapse for a day.
    dedupe=DedupeWindow("same_message", window_s=1800.0),
    ranges=False,
    exact_sizes=False,
    # Synapse's default is 50 MiB. A server that takes less says so before the upload.
    upload_max_bytes=50 * 2**20,
    lanes={
        "heads": LaneDefault(per_minute=30, burst=5),
        "read": LaneDefault(per_minute=240, burst=10),
        "download": LaneDefault(per_minute=240, burst=10),
        "upload": LaneDefault(per_minute=30, burst=5),
        "send": _SEND,
    },
)
