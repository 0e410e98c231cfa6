"""Discord: a bot's channels, threads and forum posts, read, heard and sent to."""

from headgate.connectors.discord.connector import DiscordConnector
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings

__all__ = ["DiscordConnector", "connect"]


def connect(settings: Settings, clock: Clock) -> DiscordConnector:
    """Return the connector that the settings describe."""
    return DiscordConnector(settings.discord, clock)
