"""The simulated world: a platform with faults, a virtual clock, and the suites that connectors pass.

clock = VirtualClock(datetime(2026, 3, 1, tzinfo=UTC))
world = World(seed=1, clock=clock, profile=PRESETS["telegram_like"])
world.add_account("reader")
world.add_stream("packs")
link = await SimulatedConnector(world).open("reader", {}, VolatileMemory())
"""

from headgate.kernel.clock import VirtualClock
from headgate.testing.content.content import file_of
from headgate.testing.content.demo_world import build_demo_world
from headgate.testing.platform.connector import SimulatedConnector
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import PRESETS, Profile
from headgate.testing.platform.world import World

__all__ = [
    "PRESETS",
    "FaultRates",
    "Profile",
    "SimulatedConnector",
    "VirtualClock",
    "World",
    "build_demo_world",
    "file_of",
]
