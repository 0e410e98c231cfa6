"""A service that pushes go out to, with outages; what it took is its own log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.domain.errors import Ambiguous, Transient
from headgate.domain.notifications.push_reach import PushLimits, Reach
from headgate.testing.platform.platform_state import PlatformState

RECEIVER = "receiver"


class Arrival(NamedTuple):
    """A message that arrived."""

    url: str
    title: str
    body: str
    at_s: float


@dataclass
class Receiver:
    """Takes pushes while it is up; its answers can be lost."""

    world: PlatformState
    down: bool = False
    """Every push is refused, and certainly did not arrive."""
    taken: list[Arrival] = field(default_factory=list[Arrival])

    def recognise(self, url: str) -> str:
        del url
        return RECEIVER

    def reach(self, url: str) -> Reach:
        del url
        return Reach()

    async def push(self, url: str, *, title: str, body: str, limits: PushLimits) -> None:
        """Take a message, or refuse it, or lose the answer."""
        del limits
        world = self.world
        if world.on_point is not None:
            await world.on_point("push.began")
        if self.down or world.faults.strikes("timeout_before", RECEIVER):
            raise Transient("The service is down.")
        self.taken.append(Arrival(url, title, body, world.clock.monotonic()))
        if world.on_point is not None:
            await world.on_point("push.after_effect")
        if world.faults.strikes("timeout_after", RECEIVER):
            raise Ambiguous("No answer came.")
