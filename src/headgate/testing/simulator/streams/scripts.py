"""What goes wrong in a play, by level; each seed takes another profile of the platform."""

from __future__ import annotations

from dataclasses import replace

from headgate.connectors.protocol import DedupeWindow
from headgate.domain.reminders.windows import Window
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import PRESETS, plain
from headgate.testing.simulator.engine.stage import Perils
from headgate.testing.simulator.listings.play import ListingScript
from headgate.testing.simulator.sending.fanout import FanoutScript
from headgate.testing.simulator.streams.play import Script

_MILD = FaultRates(
    flood=0.01, timeout_before=0.01, timeout_after=0.01, disconnect=0.005, live_duplicate=0.02,
    live_reorder=0.02, live_drop=0.01, live_end=0.01, delete=0.01,
    edit=0.02, malformed=0.002,
)  # fmt: skip
_WILD = FaultRates(
    flood=0.08, timeout_before=0.06, timeout_after=0.06, disconnect=0.04, live_duplicate=0.15,
    live_reorder=0.15, live_drop=0.15, live_end=0.05, delete=0.08, ban=0.01,
    edit=0.1, malformed=0.02,
)  # fmt: skip

FAULTS: dict[str, tuple[FaultRates, Perils]] = {
    "none": (FaultRates(), Perils()),
    "mild": (_MILD, Perils(crash=0.001, pause=0.0005, lost_connection=0.001)),
    "wild": (_WILD, Perils(crash=0.008, pause=0.002, lost_connection=0.005, stops=True)),
}


_SMALL_STEPS_S = (-300.0, -45.0, -3.0, 3.0, 45.0, 300.0)
_STEPS_S = (-7200.0, -600.0, *_SMALL_STEPS_S, 600.0)


def _is_exclusive(seed: int) -> bool:
    """Tell whether the platform of a seed destroys a session that is open in two places."""
    # Not of the first few, which are known to catch certain defects of reading.
    return seed % 4 == 2 and seed > 4


def _perils(seed: int, faults: str, steps_s: tuple[float, ...] = _STEPS_S) -> Perils:
    """Return what befalls the machine; in every fifth wild play somebody also sets its clock."""
    return replace(FAULTS[faults][1], clock_steps=steps_s if faults == "wild" and seed % 5 == 2 else ())


_SENDING: dict[str, FaultRates] = {
    "none": FaultRates(),
    "mild": FaultRates(flood=0.01, timeout_before=0.01, timeout_after=0.01, disconnect=0.005),
    "wild": FaultRates(flood=0.04, timeout_before=0.06, timeout_after=0.06, disconnect=0.04, ban=0.01),
}


def fanout_for(seed: int, faults: str) -> FanoutScript:
    """Return the fan-out of a seed: every fifth one has more to send than a minute allows."""
    profiles = sorted(PRESETS)
    profile = PRESETS[profiles[seed % len(profiles)]]
    if seed // 7 % 4 == 1 and profile.dedupe.kind != "none":
        # It is soon forgotten what was sent, so that a late repeat doubles it.
        profile = profile.but(dedupe=DedupeWindow(profile.dedupe.kind, 20.0))
    long = seed % 5 == 1
    closes = seed // 5 % 4 == 2
    stopped = seed % 4 == 3 and faults == "wild"
    return FanoutScript(
        targets=60 if long else 2 + seed % 5,
        parts=("Dear {group}", "+picture", "Bye")[: 1 if long else 1 + seed // 5 % 3],
        accounts=("main", "second")[: 1 if long else 1 + seed // 15 % 2],
        profile=profile.but(upload_s=25.0 if seed % 3 == 0 else 0.0, exclusive=_is_exclusive(seed)),
        window=Window(8 * 60, 8 * 60 + 1) if closes else Window(0, 1440),
        processes=2,
        rates=_SENDING[faults],
        # The log tells true time, and a window goes by the machine's clock: no steps where one closes.
        # Else small ones: what has its hour waits for it again, and so does the play.
        perils=Perils(stops=True) if stopped else _perils(seed, faults, () if closes else _SMALL_STEPS_S),
        troubled_s=70.0 if long else 40.0,
        longest_s=3600.0,
        steered=faults != "none",
    )


def sharing_for(seed: int, faults: str) -> FanoutScript:
    """Return the play of a seed in which a person sends things of the library on beside a reminder."""
    profiles = sorted(PRESETS)
    return FanoutScript(
        targets=2,
        parts=("Dear {group}",),
        accounts=("main", "second"),
        profile=PRESETS[profiles[seed % len(profiles)]].but(exclusive=_is_exclusive(seed)),
        processes=2 if _is_exclusive(seed) else 1 + seed % 2,
        rates=_SENDING[faults],
        perils=_perils(seed, faults, _SMALL_STEPS_S),
        troubled_s=60.0,
        longest_s=2 * 3600.0,
        things=4,
    )


def listings_for(seed: int, faults: str) -> ListingScript:
    """Return the play of listings of a seed; every other site tells all its news at once."""
    calm = seed % 10 == 9
    return ListingScript(
        profile=plain.but(sweeps=seed % 2 == 1),
        waves=3,
        processes=1 + seed // 2 % 2,
        rates=FaultRates() if calm else _SENDING[faults],
        perils=Perils() if calm else _perils(seed, faults),
        complete=seed % 3 == 2,
        outage_s=(50.0, 110.0) if seed % 4 == 1 else None,
        punctual=calm,
    )


def script_for(seed: int, faults: str) -> Script:
    """Return the play of a seed."""
    profiles = sorted(PRESETS)
    profile = profiles[seed % len(profiles)]
    # Most plays are shortened; in every tenth one only the schedule finds what is left.
    impatient = seed % 10 != 7
    return Script(
        rates=FAULTS[faults][0],
        perils=_perils(seed, faults),
        profile=profile,
        exclusive=_is_exclusive(seed),
        impatient=impatient,
        punctual=seed % 3 == 1,
        rest_s=900.0 if impatient else 7200.0,
        resets=seed // len(profiles) % 3 == 0 or faults == "none",
    )
