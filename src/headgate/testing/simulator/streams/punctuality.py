"""How soon: when nothing goes wrong, what is posted is taken in within a bound.

Of what a listener hears, soon after the platform lets it be read; of what nobody heard, soon after a person
asks, also when a scan is under way already; and otherwise when the schedule says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from headgate.storage.database import Connection
from headgate.testing.content.content import file_of
from headgate.testing.platform.world import World
from headgate.testing.simulator.engine.stage import Stage
from headgate.testing.simulator.streams.person import Person
from headgate.testing.simulator.streams.truth import read_channels

LOOK_S = 2.0
ASKED_WITHIN_S = 30.0
"""From a person's ask; to it comes the time until the platform lets new messages be read for good."""
HEARD_WITHIN_S = 60.0
"""From a live event; as above."""
SCHEDULED_WITHIN_S = 400.0
"""The longest interval of the play's settings, doubled for the rarely checked, and some."""
AGAIN_S = 1.0


@dataclass
class Punctuality:
    """Posts to a world at rest, and looks how long it takes until everything is taken in."""

    stage: Stage
    world: World
    director: Connection
    person: Person
    between: Callable[[], Awaitable[None]]
    _posted: int = 0

    async def check(self, *, patient: bool) -> list[str]:
        """Return what was late."""
        margin_s = self.world.profile.settle_margin_s
        failures = await self._check_heard(margin_s + HEARD_WITHIN_S)
        failures = failures or await self._check_asked(margin_s + ASKED_WITHIN_S)
        if patient and not failures:
            keys = self._post(heard=False)
            failures = await self._await(keys, margin_s + SCHEDULED_WITHIN_S, "was due")
        return failures

    async def _check_heard(self, within_s: float) -> list[str]:
        """Wait until somebody listens again with every account, then let everything be told of something."""
        listening_s = self.stage.elapsed_s + HEARD_WITHIN_S
        while self._deaf() and self.stage.elapsed_s < listening_s:
            await self._play(LOOK_S)
        if deaf := self._deaf():
            return [f"nobody listens with {', '.join(sorted(deaf))}"]
        return await self._await(self._post(heard=True), within_s, "was heard of")

    async def _check_asked(self, within_s: float) -> list[str]:
        """Ask for everything; in the middle of it let something new come, and ask again."""
        await self.person.ask_all()
        await self._play(AGAIN_S)
        keys = self._post(heard=False)
        await self.person.ask_all()
        return await self._await(keys, within_s, "was asked for")

    def _deaf(self) -> set[str]:
        heard = {one.account for one in self.world.timeline.connections if not one.ended}
        return set(self.world.accounts) - heard

    def _post(self, *, heard: bool) -> dict[str, int]:
        """Post something for every lens to every stream that is open; return where each of them is."""
        positions: dict[str, int] = {}
        for stream in self.world.streams.values():
            if stream.continued_by:
                continue
            self._posted += 1
            name = f"soon-{self._posted}"
            files = [
                file_of(f"{name}.jpg", f"{name} seen".encode() * 4000, mime_type="image/jpeg"),
                file_of(f"{name}.zip", f"{name} packed".encode() * 4000, mime_type="application/zip"),
            ]
            topic = stream.topics[0] if stream.topics else ""
            message = self.world.post(stream.key, files=files, topic=topic, heard=heard)
            positions[stream.key] = message.position
        return positions

    async def _await(self, positions: dict[str, int], within_s: float, what: str) -> list[str]:
        deadline_s = self.stage.elapsed_s + within_s
        while True:
            late = await self._find_late(positions, what)
            if not late or self.stage.elapsed_s >= deadline_s:
                return late
            await self._play(LOOK_S)

    async def _find_late(self, positions: dict[str, int], what: str) -> list[str]:
        late: list[str] = []
        for channel in await read_channels(self.world, self.director):
            if channel.row.key not in positions:
                continue
            shift = self.world.accounts[channel.row.owner].shift if channel.row.owner else 0
            key = str(positions[channel.row.key] + shift)
            if (key, "a0") not in channel.sightings:
                late.append(f"late: message {key} in {channel.name}, which {what}")
        return late

    async def _play(self, seconds: float) -> None:
        await self.stage.play(until_s=self.stage.elapsed_s + seconds, between=self.between)
