"""Whoever runs the machine: stops processes in order, and sets its clock."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.kernel.randomness import Randomness
from headgate.testing.simulator.engine.ensemble import Ensemble
from headgate.testing.simulator.engine.stage import Perils, Stage

EVERY_S = (4.0, 30.0)


@dataclass
class Operator:
    """Does now and then what a deploy or a time server does."""

    stage: Stage
    ensemble: Ensemble
    perils: Perils
    choices: Randomness

    async def live_on(self) -> None:
        """Do something every few seconds, for ever."""
        deeds = [self._stop] * self.perils.stops + [self._step] * bool(self.perils.clock_steps)
        while deeds:
            await self.stage.sleep(self.choices.uniform(*EVERY_S))
            await self.choices.choice(deeds)()

    async def _stop(self) -> None:
        self.ensemble.stop_one(self.choices)

    async def _step(self) -> None:
        by_s = self.choices.choice(self.perils.clock_steps)
        await self.stage.step_clock(by_s * self.choices.uniform(0.5, 1.5))
