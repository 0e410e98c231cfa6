"""The connectors of this installation. A platform's library is an optional extra of the package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from headgate.connectors.protocol import Connector
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import Settings


def load_connectors(settings: Settings) -> Mapping[str, Connector]:
    """Return the connectors that can be used here, by platform.

    What servers say of time is of the real world, at any speed of ours.
    """
    connectors: dict[str, Connector] = {}
    if _installed("feedparser", "httpx"):
        from headgate.connectors.feeds import FeedBounds, FeedsConnector

        feeds = settings.feeds
        bounds = FeedBounds(
            feeds.timeout_s,
            feeds.max_bytes,
            feeds.user_agent,
            feeds.allow_private,
            feeds.per_minute,
            feeds.max_entries,
        )
        connectors["feeds"] = FeedsConnector(bounds, RealClock())
    if _installed("httpx"):
        from headgate.connectors.mangadex import MangaDexConnector

        connectors["mangadex"] = MangaDexConnector(settings.mangadex, RealClock())
    return connectors


def _installed(*libraries: str) -> bool:
    return all(find_spec(library) is not None for library in libraries)
