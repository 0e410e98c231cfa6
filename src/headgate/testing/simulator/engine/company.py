"""People on the stage: they come when a play begins, and go home before it is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from headgate.testing.simulator.engine.stage import Stage, Troupe


@dataclass
class Company:
    """Everybody who is not a process of the product; none of them can die."""

    stage: Stage
    _troupes: list[Troupe] = field(default_factory=list[Troupe])

    def start(self, name: str, part: Coroutine[Any, Any, None]) -> None:
        """Let somebody come and do their part."""
        troupe = self.stage.enter(name, safe=True)
        troupe.start(part)
        self._troupes.append(troupe)

    async def see_off(self) -> None:
        """Let everybody go home; one who is in the middle of something leaves it."""
        for troupe in self._troupes:
            self.stage.forget(troupe)
            troupe.over = True
            for task in troupe.tasks:
                task.cancel()
            await asyncio.gather(*troupe.tasks, return_exceptions=True)
        self._troupes.clear()
