"""The connectors of this installation. A platform's library is an optional extra of the package."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.connectors.protocol import Connector


def load_connectors() -> Mapping[str, Connector]:
    """Return the connectors that can be used here, by platform."""
    return {}
