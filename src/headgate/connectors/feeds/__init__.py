"""Feeds: RSS 0.9 to 2.0, Atom and JSON Feed, from any address of the web.

link         reads a listing, and finds feeds by an address
fetching     an answer within bounds of time, size and redirects, over the connections of `http1`
parsing      from bytes to entries: `decoding`, then `quick_xml`, `xml_feeds` or `json_feeds`, then `entries`
discovery    the feeds that a web page names
"""

from headgate.connectors.feeds.connector import FeedsConnector
from headgate.connectors.feeds.fetching import FeedBounds

__all__ = ["FeedBounds", "FeedsConnector"]
