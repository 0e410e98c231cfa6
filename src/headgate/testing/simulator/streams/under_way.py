"""How long what was under way may go on after a rule began to hold."""

from __future__ import annotations

from headgate.testing.simulator.engine.stage import Stage

UNDER_WAY_S = 8.0
"""How long a call may take from the decision to make it: its lane's patience, and some steps of others."""


def over_at_s(stage: Stage, since_s: float, under_way_s: float) -> float:
    """Return when everything is over that was under way, also in processes that were stopped meanwhile."""
    over_s = since_s + under_way_s
    for began_s, ended_s in sorted(stage.pauses):
        if began_s <= over_s:
            over_s = max(over_s, ended_s + under_way_s)
    return over_s
