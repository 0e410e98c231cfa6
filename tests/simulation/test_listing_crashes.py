"""Processes that look at listings and die: at every await in turn, and at random; the world is the judge.

No chapter is lost, nobody misses news that they follow, and nobody is told twice. More seeds:
`headgate sim --what listings`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from full_set import CRASH_POINT_STRIDE, LISTING_PLAYS

from headgate.dev.sim import build_product
from headgate.testing.platform.profiles import PRESETS
from headgate.testing.simulator import ListingScript, listings_for, open_theatre

pytestmark = pytest.mark.once

SHARES = 4
PER_TEST = 10


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("sweeps", [False, True], ids=["polled", "swept"])
async def test_listings_survive_a_crash_at_each_await(server_url: str, *, sweeps: bool, share: int) -> None:
    quiet = ListingScript(
        profile=PRESETS["plain"].but(sweeps=sweeps),
        sources={"dex": "A"},
        waves=1,
        every_s=8.0,
        impatient=not sweeps,
    )
    async with open_theatre(server_url, build_product) as theatre:
        whole = await theatre.publish(1, quiet)
        assert whole.failures == []
        assert (whole.chapters, whole.notifications) == (4, 4)
        for point in range(share + 1, whole.points + 1, SHARES * CRASH_POINT_STRIDE):
            outcome = await theatre.publish(1, replace(quiet, crash_at=point))
            assert outcome.crashes == 1, f"nobody died at point {point}"
            assert outcome.failures == [], f"a crash at point {point}"
            assert (outcome.chapters, outcome.notifications) == (4, 4)


@pytest.mark.parametrize("first", range(0, LISTING_PLAYS, PER_TEST))
async def test_listings_survive_crashes_and_faults_at_random(server_url: str, first: int) -> None:
    async with open_theatre(server_url, build_product) as theatre:
        for seed in range(first, first + PER_TEST):
            outcome = await theatre.publish(seed, listings_for(seed, "wild"))
            assert outcome.failures == [], f"headgate sim --what listings --seed {seed}"
