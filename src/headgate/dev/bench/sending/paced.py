"""Fan-outs at the pace of their lanes, in virtual time: as long as the pace asks for, and no longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.cli.output import progress_bar
from headgate.dev.bench.ground import open_ground
from headgate.dev.sim import build_product
from headgate.testing.platform.profiles import plain
from headgate.testing.simulator import open_theatre
from headgate.testing.simulator.sending.fanout import FanoutOutcome, FanoutScript

SEED = 1
TEXT_AND_PICTURE = ("Dear {group}", "+picture")
CAPTIONED = ("+Dear {group}",)


@dataclass(frozen=True)
class Paced:
    """What one fan-out came to, beside what its pace allows."""

    outcome: FanoutOutcome
    messages: int
    accounts: int

    @property
    def limit_s(self) -> float:
        return self.messages / self.accounts / plain.lanes["send"].per_minute * 60

    @property
    def ratio(self) -> float:
        return self.outcome.virtual_s / self.limit_s

    @property
    def statements(self) -> float:
        return self.outcome.statements / max(self.outcome.messages, 1)

    @property
    def values(self) -> dict[str, Any]:
        return {
            "virtual_s": round(self.outcome.virtual_s, 1),
            "limit_s": round(self.limit_s, 1),
            "ratio": round(self.ratio, 4),
            "uploads": self.outcome.uploads,
            "max_in_any_60s": self.outcome.most_in_a_minute,
            "db_statements_per_message": round(self.statements, 2),
            "duplicates": self.outcome.doubled,
            "uncertain": self.outcome.uncertain,
            "messages": self.outcome.messages,
            "failures": self.outcome.failures,
        }


async def measure_paced(targets: int) -> dict[str, Paced]:
    """Play the three fan-outs, each on a database of its own."""
    scripts = {
        "": FanoutScript(targets=targets, parts=TEXT_AND_PICTURE),
        "captioned": FanoutScript(targets=targets, parts=CAPTIONED),
        "two_accounts": FanoutScript(targets=targets, parts=TEXT_AND_PICTURE, accounts=("main", "second")),
    }
    played: dict[str, Paced] = {}
    async with open_ground() as url, open_theatre(url, build_product) as theatre:
        with progress_bar("Fanning out in virtual time", total=len(scripts)) as advance:
            for name, script in scripts.items():
                outcome = await theatre.fan_out(SEED, script)
                messages = targets * len(script.parts) * len(script.accounts)
                played[name] = Paced(outcome, messages, len(script.accounts))
                advance(1)
    return played
