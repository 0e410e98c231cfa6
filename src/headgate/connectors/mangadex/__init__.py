"""MangaDex: listings of series, one sweep over the whole site, with or without a sign-in."""

from headgate.connectors.mangadex.connector import MangaDexConnector
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings

__all__ = ["MangaDexConnector", "connect"]


def connect(settings: Settings, clock: Clock) -> MangaDexConnector:
    """Return the connector that the settings describe."""
    return MangaDexConnector(settings.mangadex, clock)
