"""What goes wrong on the simulated platform, drawn from the seed.

Each kind of fault has an own stream of choices per account, so that switching one off does not move the
others, and what one account does is no matter to the faults of another.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from headgate.kernel.randomness import Randomness
from headgate.testing.content.seeds import derive


@dataclass(frozen=True)
class FaultRates:
    """How probable each kind of fault is: per call, or per message or live event where it says so."""

    flood: float = 0.0
    timeout_before: float = 0.0
    """No answer, and nothing happened."""
    timeout_after: float = 0.0
    """No answer, but it happened."""
    disconnect: float = 0.0
    """The call fails, and the account's live connections end."""
    ban: float = 0.0
    expired_link: float = 0.0
    """Per download."""
    cut: float = 0.0
    """Per chunk of a download: it ends there, as if that were all."""
    excess: float = 0.0
    """Per download: more comes than there is."""
    malformed: float = 0.0
    """Per message read: it comes, but cannot be parsed this time."""
    live_duplicate: float = 0.0
    live_reorder: float = 0.0
    live_drop: float = 0.0
    """Silently; only where live events are hints."""
    live_end: float = 0.0
    """Per live event: the connection ends before it."""
    lost_sync: float = 0.0
    """Per live connection: the platform does not know any more up to where it has told everything."""
    edit: float = 0.0
    """Per posted message: it is edited soon after."""
    delete: float = 0.0
    """Per posted message: it is deleted soon after."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 <= getattr(self, field.name) <= 1:
                raise ValueError(f"the probability of {field.name} must lie between 0 and 1")


NONE = FaultRates()
MILD = FaultRates(
    flood=0.01, timeout_before=0.01, timeout_after=0.01, disconnect=0.005, malformed=0.002,
    live_duplicate=0.02, live_reorder=0.02, live_drop=0.01, live_end=0.01, edit=0.02, delete=0.01,
    expired_link=0.02, cut=0.01, excess=0.01, lost_sync=0.1,
)  # fmt: skip
WILD = FaultRates(
    flood=0.08, timeout_before=0.06, timeout_after=0.06, disconnect=0.04, malformed=0.02, live_duplicate=0.15,
    live_reorder=0.15, live_drop=0.15, live_end=0.05, edit=0.1, delete=0.08, expired_link=0.15, ban=0.002,
    cut=0.05, excess=0.05, lost_sync=0.3,
)  # fmt: skip
LEVELS = {"none": NONE, "mild": MILD, "wild": WILD}

FLOOD_S = (2.0, 45.0)


class Faults:
    """Draws faults until it is told to stop."""

    def __init__(self, seed: int, rates: FaultRates = NONE) -> None:
        self._seed = seed
        self._rates = rates
        self._choices: dict[tuple[str, str], Randomness] = {}
        self._off: set[str] = set()
        self.stopped = False

    def stop(self) -> None:
        """Let nothing go wrong any more, so that a simulation can come to rest."""
        self.stopped = True

    def resume(self, rates: FaultRates | None = None) -> None:
        """Let things go wrong again."""
        self._rates = rates or self._rates
        self.stopped = False

    def switch_off(self, kind: str) -> None:
        """Let one kind of fault not happen any more."""
        if kind not in FaultRates.__dataclass_fields__:
            raise ValueError(f"there is no fault named {kind}")
        self._off.add(kind)

    @property
    def quiet(self) -> bool:
        """Whether nothing can go wrong now."""
        return self.stopped or self._rates is NONE

    def strikes(self, kind: str, account: str) -> bool:
        """Say whether a fault happens this time."""
        if self.quiet:
            return False
        rate: float = getattr(self._rates, kind)
        if rate == 0.0 or kind in self._off:
            return False
        return self.choices(kind, account).chance(rate)

    def choices(self, kind: str, account: str) -> Randomness:
        """Return the choices of one kind of fault for one account (its length, its place)."""
        name = (kind, account)
        if name not in self._choices:
            self._choices[name] = derive(self._seed, "fault", kind, account)
        return self._choices[name]
