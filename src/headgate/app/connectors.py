"""The connectors of this installation. A platform's library is an optional extra of the package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from headgate.connectors.protocol import Connector
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.settings import Settings

CONNECTORS: Mapping[str, tuple[str, ...]] = {
    "feeds": ("feedparser", "httpx"),
    "mangadex": ("httpx",),
    "folder": (),
}
"""The folders under `connectors`, each with a `connect` function, and the libraries they need."""


class ConnectorFolder(Protocol):
    """What the package of a connector offers."""

    def connect(self, settings: Settings, clock: Clock) -> Connector: ...


def load_connectors(settings: Settings) -> Mapping[str, Connector]:
    """Return the connectors that can be used here, by platform.

    They get the real clock even in a demo, because servers state times of the real world.
    """
    return {
        platform: cast("ConnectorFolder", import_module(f"headgate.connectors.{platform}")).connect(
            settings, RealClock()
        )
        for platform, libraries in CONNECTORS.items()
        if all(find_spec(library) is not None for library in libraries)
    }
