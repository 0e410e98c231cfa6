"""The connectors of this installation. A platform's library is an optional extra of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Protocol, cast

from headgate.connectors.protocol import Connector
from headgate.kernel.clock import Clock, RealClock
from headgate.kernel.logs import get_logger
from headgate.kernel.settings import Settings

log = get_logger("connectors")

ENTRY_POINTS = "headgate.connectors"
"""Packages of others name their `connect` functions in this group, by platform."""

CONNECTORS: Mapping[str, tuple[str, ...]] = {
    "feeds": ("feedparser", "httpx"),
    "mangadex": ("httpx",),
    "matrix": ("nio",),
    "folder": (),
    "discord": ("aiohttp",),
}
"""The folders under `connectors`, each with a `connect` function, and the libraries they need."""


class ConnectorFolder(Protocol):
    """What the package of a connector offers."""

    def connect(self, settings: Settings, clock: Clock) -> Connector: ...


def load_connectors(settings: Settings) -> Mapping[str, Connector]:
    """Return the connectors that can be used here, by platform.

    They get the real clock even in a demo, because servers state times of the real world.
    """
    clock = RealClock()
    ours: dict[str, Connector] = {
        platform: cast("ConnectorFolder", import_module(f"headgate.connectors.{platform}")).connect(
            settings, clock
        )
        for platform, libraries in CONNECTORS.items()
        if all(find_spec(library) is not None for library in libraries)
    }
    return {**_load_others(settings, clock), **ours}


def _load_others(settings: Settings, clock: Clock) -> dict[str, Connector]:
    """Return the connectors of other packages; one that cannot be loaded harms nobody else."""
    others: dict[str, Connector] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name in CONNECTORS:
            log.warning("a package names a connector of Headgate's own; it is ignored", connector=entry.name)
            continue
        try:
            connect = cast("Callable[[Settings, Clock], Connector]", entry.load())
            others[entry.name] = connect(settings, clock)
        except Exception as error:  # noqa: BLE001 - whatever a foreign package raises
            log.warning("a connector cannot be loaded", connector=entry.name, reason=repr(error))
    return others
