"""Small plays in which one promise each is at stake; the outside world's log is the judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.domain.reminders.windows import Window
from headgate.testing import PRESETS
from headgate.testing.platform.faults import FaultRates
from headgate.testing.platform.profiles import plain
from headgate.testing.simulator import FanoutScript, ListingScript, Theatre, script_for
from headgate.testing.simulator.engine.stage import Perils

pytestmark = pytest.mark.once

NINE = tuple(f"account {number}" for number in range(1, 10))


async def test_nine_accounts_begin_at_once_and_take_no_longer_than_their_pace(theatre: Theatre) -> None:
    outcome = await theatre.fan_out(1, FanoutScript(targets=6, parts=("Hi",), accounts=NINE, punctual=True))
    assert (outcome.failures, outcome.messages) == ([], 54)


async def test_more_than_a_minute_allows_goes_out_at_the_pace_of_the_lane(theatre: Theatre) -> None:
    outcome = await theatre.fan_out(1, FanoutScript(targets=60, parts=("Hi",), punctual=True))
    assert (outcome.failures, outcome.messages) == ([], 60)


async def test_nobody_sends_while_the_platform_asks_for_quiet(theatre: Theatre) -> None:
    script = FanoutScript(targets=20, parts=("Hi",), rates=FaultRates(flood=0.1), troubled_s=120.0)
    outcome = await theatre.fan_out(2, script)
    assert (outcome.failures, outcome.messages) == ([], 20)


async def test_nothing_goes_out_after_the_window_has_closed(theatre: Theatre) -> None:
    script = FanoutScript(targets=60, parts=("Hi",), window=Window(8 * 60, 8 * 60 + 1))
    outcome = await theatre.fan_out(1, script)
    assert outcome.failures == []
    assert 35 < outcome.messages < 60


async def test_processes_that_stop_in_order_leave_no_message_in_doubt(theatre: Theatre) -> None:
    # A platform that recognises no repeat: elsewhere a doubt would be settled by sending again.
    forgetful = PRESETS["hostile"].but(flood_per_minute={})
    script = FanoutScript(
        targets=60, parts=("Hi",), profile=forgetful, perils=Perils(stops=True), troubled_s=90.0
    )
    outcome = await theatre.fan_out(3, script)
    assert (outcome.failures, outcome.messages, outcome.uncertain) == ([], 60, 0)


async def test_a_push_waits_out_a_minute_without_its_receiver(theatre: Theatre) -> None:
    outcome = await theatre.publish(1, ListingScript(waves=1, outage_s=(55.0, 175.0), longest_s=1800.0))
    assert outcome.failures == []


async def test_an_entry_that_a_whole_listing_holds_no_more_is_known_to_be_gone(theatre: Theatre) -> None:
    outcome = await theatre.publish(
        1, ListingScript(profile=plain, complete=True, punctual=True, longest_s=400.0)
    )
    assert outcome.failures == []


async def test_what_is_heard_of_or_asked_for_is_taken_in_soon(theatre: Theatre) -> None:
    script = replace(
        script_for(1, "none"),
        rates=FaultRates(),
        perils=Perils(),
        troubled_s=10.0,
        punctual=True,
        resets=False,
    )
    assert (await theatre.play(1, "none", script)).failures == []
