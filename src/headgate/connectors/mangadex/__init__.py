"""MangaDex: listings of series, one sweep over the whole site, with or without a sign-in."""

from headgate.connectors.mangadex.connector import MangaDexConnector

__all__ = ["MangaDexConnector"]
