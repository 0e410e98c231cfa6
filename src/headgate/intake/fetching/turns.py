"""What one job may do: a bounded time and number of bytes, so that all channels get their turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import AccountTrouble
from headgate.jobs.job import Job
from headgate.kernel.clock import Clock
from headgate.lanes.lane import PermitStock
from headgate.lanes.links import AccountRef

MAX_TURN_S = 60.0
MAX_TURN_BYTES = 256 * 2**20
FAIR_EVERY = 4
"""One take in so many ignores how urgent things are."""
MAX_WITHOUT_ROOM = 20
"""Files of a turn that may turn out not to fit."""


@dataclass(frozen=True)
class SlotKey:
    """A slot of an account."""

    account_id: UUID
    slot: int

    @classmethod
    def parse(cls, text: str) -> SlotKey:
        account_id, _, slot = text.partition("/")
        return cls(UUID(account_id), int(slot))


@dataclass
class Turn:
    """One turn of a slot."""

    job: Job[SlotKey]
    clock: Clock
    account: AccountRef
    taken_by: UUID
    """Names this turn in all files that it takes."""
    bytes: int = 0
    takes: int = 0
    without_room: int = 0
    permits: PermitStock = field(default_factory=PermitStock)
    passed: list[UUID] = field(default_factory=list[UUID])
    """Channels that had nothing to take."""
    rest_until: datetime | None = None
    """The platform or the store asks to wait."""
    trouble: AccountTrouble | None = None

    def __post_init__(self) -> None:
        self.began_s = self.clock.monotonic()

    @property
    def stopping(self) -> bool:
        """Whether somebody waits for this job to end, whatever it does."""
        return self.job.stopping.is_set() or self.job.crowded()

    @property
    def over(self) -> bool:
        elapsed_s = self.clock.monotonic() - self.began_s
        return self.stopping or elapsed_s >= MAX_TURN_S or self.bytes >= MAX_TURN_BYTES

    @property
    def ended(self) -> bool:
        """Whether nothing more can be done in this turn, for a reason that lasts."""
        return (
            self.rest_until is not None or self.trouble is not None or self.without_room >= MAX_WITHOUT_ROOM
        )

    @property
    def fair(self) -> bool:
        return self.takes % FAIR_EVERY == 0
