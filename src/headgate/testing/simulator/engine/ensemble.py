"""The processes of a play: they run the product, die, and are replaced."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.kernel.randomness import Randomness
from headgate.testing.platform.connector import SimulatedConnector
from headgate.testing.platform.world import World
from headgate.testing.receiver import Receiver
from headgate.testing.simulator.engine.lines import Lines
from headgate.testing.simulator.engine.process import Process, ProductFactory
from headgate.testing.simulator.engine.stage import Stage


@dataclass
class Ensemble:
    """All processes that a play has had so far."""

    seed: int
    lines: Lines
    stage: Stage
    world: World
    build: ProductFactory
    listens: bool = True
    downloads: bool = False
    processes: list[Process] = field(default_factory=list[Process])
    gone: list[Process] = field(default_factory=list[Process])
    stops: int = 0
    """How many ended in order."""

    def __post_init__(self) -> None:
        self.randomness = Randomness(self.seed).fork("processes")
        self.connector = SimulatedConnector(self.world, "a person's command")
        self.world.sessions.stalled = self._is_stalled
        self.receiver = Receiver(self.world)

    def start_process(self) -> None:
        number = len(self.processes) + len(self.gone)
        name = f"process {number}"
        process = Process(
            stage=self.stage,
            lines=self.lines,
            name=name,
            build=self.build,
            connector=SimulatedConnector(self.world, name),
            pusher=self.receiver,
            randomness=self.randomness.fork(str(number)),
            listens=self.listens,
            downloads=self.downloads,
        )
        process.start()
        self.processes.append(process)

    async def replace_dead(self) -> None:
        """Bury whoever died, see off whoever ended in order, and start another in the place of each."""
        for process in [one for one in self.processes if one.troupe.crashed or one.stopped]:
            if process.troupe.crashed:
                await self.lose(process)
            else:
                await self._see_off(process)
            self.start_process()

    def stop_one(self, choices: Randomness) -> None:
        """Ask one of the processes to end in order."""
        running = [process for process in self.processes if not process.troupe.crashed]
        if running:
            choices.choice(running).stop()

    async def _see_off(self, process: Process) -> None:
        self.processes.remove(process)
        self.gone.append(process)
        await process.dispose()
        process.cut()
        self.stops += 1

    async def lose(self, process: Process) -> None:
        """Bury a process; whatever it was about to do, it never does."""
        self.processes.remove(process)
        self.gone.append(process)
        process.troupe.crashed = True
        process.bury()
        self.world.sessions.lose(process.name)
        self.world.disconnect()

    def _is_stalled(self, owner: object) -> bool:
        """Tell whether a process is stopped, or goes on at this moment and has had no turn yet."""
        return any(
            process.name == owner and process.troupe.paused_until_s >= self.stage.elapsed_s > 0.0
            for process in self.processes
        )

    @property
    def statements(self) -> int:
        """How many statements the jobs of all of them needed."""
        return sum(process.counted["statements"] for process in [*self.processes, *self.gone])

    async def dispose(self) -> None:
        for process in [*self.processes, *self.gone]:
            await process.dispose()
            process.cut()
