"""The simulator: the whole product on a real PostgreSQL, one actor at a time, crashing at any await.

A seed decides everything: who goes on, what fails, who dies. A failing seed is replayed with one command.
"""

from headgate.testing.simulator.engine.process import Product, ProductFactory
from headgate.testing.simulator.engine.theatre import Theatre, open_theatre
from headgate.testing.simulator.listings.play import ListingOutcome, ListingPlay, ListingScript
from headgate.testing.simulator.sending.fanout import Fanout, FanoutOutcome, FanoutScript
from headgate.testing.simulator.streams.play import Play, PlayOutcome, Script
from headgate.testing.simulator.streams.scripts import (
    FAULTS,
    fanout_for,
    listings_for,
    script_for,
    sharing_for,
)

__all__ = [
    "FAULTS",
    "Fanout",
    "FanoutOutcome",
    "FanoutScript",
    "ListingOutcome",
    "ListingPlay",
    "ListingScript",
    "Play",
    "PlayOutcome",
    "Product",
    "ProductFactory",
    "Script",
    "Theatre",
    "fanout_for",
    "listings_for",
    "open_theatre",
    "script_for",
    "sharing_for",
]
