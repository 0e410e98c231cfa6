"""The processes of a play: they run the product, die, and are replaced."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.kernel.randomness import Randomness
from headgate.storage.database import Connection
from headgate.testing.platform import SimulatedConnector
from headgate.testing.simulator.process import Process, ProductFactory
from headgate.testing.simulator.stage import Stage
from headgate.testing.world import World


@dataclass
class Ensemble:
    """All processes that a play has had so far."""

    seed: int
    url: str
    stage: Stage
    world: World
    build: ProductFactory
    director: Connection
    listens: bool = True
    processes: list[Process] = field(default_factory=list[Process])
    gone: list[Process] = field(default_factory=list[Process])

    def __post_init__(self) -> None:
        self.randomness = Randomness(self.seed).fork("processes")
        self.connector = SimulatedConnector(self.world)

    def start_process(self) -> None:
        number = len(self.processes) + len(self.gone)
        process = Process(
            stage=self.stage,
            url=self.url,
            name=f"process {number}",
            build=self.build,
            connector=self.connector,
            randomness=self.randomness.fork(str(number)),
            listens=self.listens,
        )
        process.start()
        self.processes.append(process)

    async def replace_dead(self) -> None:
        """Bury whoever died, and start another in its place."""
        for process in [process for process in self.processes if process.troupe.crashed]:
            await self.lose(process)
            self.start_process()

    async def lose(self, process: Process) -> None:
        """Bury a process; whatever it was about to do, it never does."""
        self.processes.remove(process)
        self.gone.append(process)
        process.troupe.crashed = True
        await process.bury(self.director)
        self.world.disconnect()

    async def dispose(self) -> None:
        for process in [*self.processes, *self.gone]:
            await process.dispose()
            await process.close()
