"""Feeds: RSS 0.9 to 2.0, Atom and JSON Feed, from any address of the web.

link         reads a listing, and finds feeds by an address
fetching     an answer within bounds of time, size and redirects, over the connections of `http1`
parsing      from bytes to entries: `decoding`, then `quick_xml`, `xml_feeds` or `json_feeds`, then `entries`
discovery    the feeds that a web page names
"""

from headgate.connectors.feeds.connector import FeedsConnector
from headgate.connectors.feeds.fetching import FeedBounds
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings

__all__ = ["FeedBounds", "FeedsConnector", "connect"]


def connect(settings: Settings, clock: Clock) -> FeedsConnector:
    """Return the connector that the settings describe."""
    feeds = settings.feeds
    bounds = FeedBounds(
        feeds.timeout_s,
        feeds.max_bytes,
        feeds.user_agent,
        feeds.allow_private,
        feeds.per_minute,
        feeds.max_entries,
    )
    return FeedsConnector(bounds, clock)
