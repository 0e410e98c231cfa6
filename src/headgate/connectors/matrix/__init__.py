"""Matrix: rooms as streams and as targets, on any homeserver."""

from headgate.connectors.matrix.connector import MatrixConnector
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings

__all__ = ["MatrixConnector", "connect"]


def connect(settings: Settings, clock: Clock) -> MatrixConnector:
    """Return the connector that the settings describe."""
    return MatrixConnector(settings.matrix, clock)
