"""Messages that may have been sent: none is doubled, and none is called failed, whatever happens next."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fanouts import Doing, at_point, kill, lose_answer, noting, play

from headgate.connectors.protocol import DedupeWindow
from headgate.outflow.sending.message_sender import SEND_TIMEOUT_S, SETTLE_S
from headgate.testing.platform.errors import SimFlood
from headgate.testing.platform.profiles import PRESETS, plain
from headgate.testing.simulator import Theatre
from headgate.testing.simulator.engine.stage import AT_WORK
from headgate.testing.simulator.sending.fanout import START, Fanout, FanoutEvent, FanoutScript

pytestmark = pytest.mark.once

ONE = ("Dear {group}",)


async def test_a_repeat_that_a_slow_upload_carries_out_of_the_dedupe_window_is_not_sent(
    theatre: Theatre,
) -> None:
    forgetful = PRESETS["discord_like"].but(media_life_s=240.0)
    assert forgetful.dedupe.window_s == 180

    async def limit_the_repeat(_: Fanout, call: int) -> None:
        if call == 2:
            raise SimFlood(130.0)

    async def slow_down_uploads(fanout: Fanout, upload: int) -> None:
        if upload > 1:
            await fanout.world.clock.sleep(30.0)

    outcome = await play(
        theatre,
        FanoutScript(targets=1, parts=("+picture of {group}",), profile=forgetful),
        (0, lose_answer()),
        (0, at_point("send.began", limit_the_repeat)),
        (0, at_point("upload.began", slow_down_uploads)),
    )
    assert (outcome.messages, outcome.doubled, outcome.uploads) == (1, 0, 2)
    assert outcome.states == ["success"]


@pytest.mark.long
async def test_a_message_that_may_have_been_sent_is_not_failed_because_its_group_is_gone(
    theatre: Theatre,
) -> None:
    async def leave_group(fanout: Fanout) -> None:
        for group in fanout.world.groups.values():
            group.members = {"somebody else"}
        await kill(fanout)

    rows: list[Any] = []
    sql = "select d.state as delivery, p.state as part from delivery d join part p on p.run_id = d.run_id"
    happenings = ((0, lose_answer()), (4, leave_group), (300, noting(rows, sql)))
    script = FanoutScript(
        targets=1, parts=ONE, profile=plain, happenings=[FanoutEvent(at_s, do) for at_s, do in happenings]
    )
    outcome = await theatre.fan_out(1, script)
    assert rows == [{"delivery": "uncertain", "part": "uncertain"}]
    assert outcome.failures == []


async def test_a_repeat_waits_until_the_first_call_cannot_be_under_way_any_more(theatre: Theatre) -> None:
    calls: list[Any] = []

    async def note(fanout: Fanout) -> None:
        calls.extend(fanout.world.log.calls("send"))

    await play(
        theatre,
        FanoutScript(targets=1, parts=ONE),
        (0, lose_answer()),
        (120, note),
    )
    first, second = (call.began_s for call in calls)
    assert second - first >= SETTLE_S - 1.0


async def test_messages_of_a_dead_sender_count_among_those_at_once(theatre: Theatre) -> None:
    flying: list[int] = []

    async def send_slowly(fanout: Fanout, _: int) -> None:
        now_s = fanout.stage.elapsed_s
        calls = fanout.world.log.calls("send")
        flying.append(sum(call.outcome == "open" and now_s - call.began_s < SEND_TIMEOUT_S for call in calls))
        await fanout.world.clock.sleep(7.0)

    async def free(fanout: Fanout) -> None:
        """Let the dead sender's heartbeat and lease lapse now; its own connections are closed by then."""
        await fanout.rows(
            "update pgqueuer set heartbeat = heartbeat - interval '1 hour' where entrypoint = 'send'"
        )
        await fanout.rows("update lease set expires_at = $1 where name like 'send:%'", START)

    outcome = await play(
        theatre,
        FanoutScript(targets=6, parts=ONE, profile=PRESETS["discord_like"], processes=2),
        (0, at_point("send.began", send_slowly)),
        (6, kill),
        (7, free),
    )
    assert (outcome.messages, outcome.uncertain, max(flying)) == (6, 0, 3)


@pytest.mark.long
async def test_a_stop_at_any_moment_leaves_nothing_in_doubt(theatre: Theatre) -> None:
    script = FanoutScript(targets=3, parts=ONE, profile=PRESETS["hostile"].but(flood_per_minute={}))
    points: list[str] = []
    await play(theatre, script, (0, _stop_at(0, points)))
    # From the first round on; before it nothing is marked.
    first, last = points.index("send.began") - 6, len(points) - 1 - points[::-1].index("send.after_effect")
    for number in range(first, last + 8):
        outcome = await play(theatre, script, (0, _stop_at(number, [])))
        assert (outcome.messages, outcome.uncertain) == (3, 0), number


def _stop_at(number: int, points: list[str]) -> Doing:
    """Tell the process at a point of its jobs to stop, and let it start anew three seconds later."""

    async def hook(fanout: Fanout) -> None:
        stage, point = fanout.stage, fanout.stage.point
        stopped_s: list[float] = []

        async def reach(label: str, *, switch: bool = True, undone: bool = False) -> None:
            stopping = fanout.processes[0].product.execution.stopping
            points.extend([label] if AT_WORK.get() else [])
            if not stopped_s and 0 < number == len(points):
                stopped_s.append(stage.elapsed_s)
                stopping.set()
            elif stopped_s and stage.elapsed_s > stopped_s[0] + 3.0:
                stopping.clear()
            await point(label, switch=switch, undone=undone)

        stage.point = reach
        fanout.world.on_point = reach

    return hook


KEYLESS = plain.but(dedupe=DedupeWindow("none"), keyless_history=True)


async def test_a_history_without_keys_tells_a_message_by_its_content(theatre: Theatre) -> None:
    script = FanoutScript(targets=1, parts=ONE, profile=KEYLESS)
    outcome = await play(theatre, script, (0, lose_answer()))
    assert (outcome.messages, outcome.uncertain, outcome.doubled) == (1, 0, 0)
    assert outcome.states == ["success"]


async def test_equal_messages_of_a_delivery_are_told_apart_by_what_was_claimed(theatre: Theatre) -> None:
    script = FanoutScript(targets=1, parts=("Same words", "Same words"), profile=KEYLESS)
    outcome = await play(theatre, script, (0, lose_answer(2)))
    assert (outcome.messages, outcome.uncertain) == (2, 0)


async def test_a_text_that_another_doubtful_message_may_have_proves_nothing(theatre: Theatre) -> None:
    async def add_rival(fanout: Fanout) -> None:
        """Let another message of the account to the group be in doubt, of which nothing was settled."""
        await fanout.rows(
            "insert into delivery (run_id, number, target_id, target_key, target_title, state, ended_at)"
            " select run_id, 1000, target_id, target_key, target_title, 'uncertain', $1 from delivery",
            START + timedelta(days=1),
        )
        await fanout.rows(
            "insert into part (run_id, delivery, number, account_id, state, key)"
            " select run_id, 1000, 1, account_id, 'uncertain', 'rival' from part"
        )

    script = FanoutScript(targets=1, parts=ONE, profile=KEYLESS)
    outcome = await play(theatre, script, (0, lose_answer()), (2, add_rival))
    assert outcome.uncertain == 2
