"""How often something is checked, in the words that people read and type."""

from __future__ import annotations

from typing import Literal

from headgate.domain.streams.schedule import Tier

Frequency = Literal["often", "normal", "rarely"]
FrequencyChoice = Literal["often", "normal", "rarely", "automatic"]
"""What a person can choose; with `automatic` Headgate decides."""

FREQUENCIES: dict[str, Frequency] = {"HOT": "often", "WARM": "normal", "COLD": "rarely"}
FREQUENCY_SET: dict[FrequencyChoice, str] = {
    "often": "checked often from now on.",
    "normal": "checked at the normal frequency from now on.",
    "rarely": "checked rarely from now on.",
    "automatic": "Headgate decides again how often to check.",
}
"""What a person is told after a choice."""

_TIERS: dict[FrequencyChoice, Tier | None] = {
    "often": "HOT",
    "normal": "WARM",
    "rarely": "COLD",
    "automatic": None,
}


def frequency_word(tier: str) -> str:
    """Return the word for a stored tier; listings without one have none."""
    return FREQUENCIES.get(tier, tier)


def chosen_tier(choice: FrequencyChoice) -> Tier | None:
    """Return the tier that a choice fixes; None where Headgate decides."""
    return _TIERS[choice]
