"""Whole fan-outs in virtual time, judged by what the platform saw."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from fanouts import calm, flood, noting, play

from headgate.connectors.protocol import LaneDefault
from headgate.domain.reminders.windows import Window
from headgate.outflow.reminders.runs import make_run
from headgate.outflow.sending import controls
from headgate.outflow.sending.batch import BATCH_S
from headgate.storage.sending.sending import set_group_concurrency
from headgate.testing.platform.profiles import plain
from headgate.testing.simulator import Theatre
from headgate.testing.simulator.sending.fanout import START, Fanout, FanoutScript

pytestmark = pytest.mark.once

ONE = ("Dear {group}",)
TWO = ("Dear {group}", "+picture")


async def test_a_token_is_taken_for_each_message_not_for_each_group(theatre: Theatre) -> None:
    outcome = await play(theatre, FanoutScript(targets=40, parts=("one", "two", "three")))
    assert outcome.messages == 120
    assert outcome.most_in_a_minute <= 43
    assert 175 <= outcome.virtual_s <= 190


async def test_a_captioned_picture_is_one_message_and_is_uploaded_once(theatre: Theatre) -> None:
    outcome = await play(theatre, FanoutScript(targets=80, parts=("+Dear {group}",)))
    assert (outcome.messages, outcome.uploads) == (80, 1)
    assert 115 <= outcome.virtual_s <= 125


async def test_two_accounts_send_side_by_side(theatre: Theatre) -> None:
    outcome = await play(theatre, FanoutScript(targets=40, parts=TWO, accounts=("main", "second")))
    assert outcome.states == ["success", "success"]
    assert outcome.messages == 160
    # As long as one of them alone takes.
    assert outcome.virtual_s <= 125


async def test_parts_of_a_group_arrive_in_order_with_a_pause_and_few_groups_are_open_at_once(
    theatre: Theatre,
) -> None:
    seen: list[Any] = []

    async def look(fanout: Fanout) -> None:
        seen.extend(
            [(message.text, message.sent_at) for message in group.messages]
            for group in fanout.world.groups.values()
        )

    fast = plain.but(lanes={**plain.lanes, "send": LaneDefault(per_minute=2400, burst=200)})
    script = FanoutScript(targets=12, parts=("first", "second", "third"), profile=fast)
    flying: list[Any] = []
    sql = "select account_id, count(*) as parts from part where state = 'sending' group by 1"
    moments = [(at_s / 10, noting(flying, sql)) for at_s in range(20, 60, 5)]
    await play(theatre, script, *moments, (60, look))
    assert len(seen) == 12
    for messages in seen:
        assert [text for text, _ in messages] == ["first", "second", "third"]
        times = [sent_at for _, sent_at in messages]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        assert all(pause >= timedelta(seconds=0.2) for pause in pauses)
    assert all(row["parts"] <= 3 for row in flying)


@pytest.mark.long
async def test_a_run_that_meets_the_close_of_its_window_stops_and_says_so(theatre: Theatre) -> None:
    window = Window(8 * 60, 8 * 60 + 10, "UTC")
    sent: list[Any] = []

    async def look(fanout: Fanout) -> None:
        sent.extend(effect.at for effect in fanout.world.log.sends())

    script = FanoutScript(targets=450, parts=ONE, window=window)
    outcome = await play(theatre, script, (620, look))
    assert outcome.states == ["partial"]
    assert len(sent) == outcome.messages
    assert max(sent) < START + timedelta(minutes=10)
    (summary,) = outcome.summaries
    assert summary.startswith(
        f"Delivery window closed at 08:10 (UTC). {outcome.messages} of 450 groups delivered."
        " This account is at capacity for this run; consider sending the rest from another account."
    )
    assert f"{450 - outcome.messages} skipped (delivery window closed)" in summary
    assert 398 <= outcome.messages <= 403


async def test_capacity_is_not_blamed_when_the_run_was_paused_until_the_close(theatre: Theatre) -> None:
    async def pause(fanout: Fanout) -> None:
        (row,) = await fanout.rows("select id from run")
        async with fanout.person_db.transaction() as tx:
            await controls.pause(tx, row["id"])

    window = Window(8 * 60, 8 * 60 + 5, "UTC")
    outcome = await play(theatre, FanoutScript(targets=100, parts=ONE, window=window), (60, pause))
    (summary,) = outcome.summaries
    assert outcome.states == ["partial"]
    assert "capacity" not in summary
    assert "paused by a person" in summary


async def test_what_a_window_leaves_is_carried_to_the_next_one_if_the_reminder_says_so(
    theatre: Theatre,
) -> None:
    window = Window(8 * 60, 8 * 60 + 2, "UTC")
    between: list[Any] = []

    async def leap(fanout: Fanout) -> None:
        between.extend(await fanout.rows("select state, reason, carried from run"))
        await fanout.leap(86_400 - 135)

    script = FanoutScript(targets=120, parts=ONE, window=window, at_close="carry", longest_s=90_000)
    outcome = await play(theatre, script, (130, leap))
    assert outcome.states == ["success"]
    assert outcome.messages == 120
    assert between == [
        {
            "state": "waiting",
            "reason": "waits for the window to open at 2026-03-03 08:00 (UTC)",
            "carried": 1,
        }
    ]


async def test_a_run_before_its_window_waits_for_it_to_open(theatre: Theatre) -> None:
    window = Window(8 * 60 + 3, 18 * 60, "UTC")
    sent: list[Any] = []

    async def look(fanout: Fanout) -> None:
        sent.extend(effect.at for effect in fanout.world.log.sends())

    outcome = await play(theatre, FanoutScript(targets=10, parts=ONE, window=window), (240, look))
    assert outcome.states == ["success"]
    assert min(sent) >= START + timedelta(minutes=3)


async def test_a_limit_signal_slows_the_lane_and_the_run_finishes_and_says_why(theatre: Theatre) -> None:
    changes: list[Any] = []
    sql = "select cause, from_rate, to_rate from lane_change where kind = 'send' order by id"
    script = FanoutScript(targets=60, parts=ONE)
    outcome = await play(theatre, script, (30, flood()), (32, calm), (150, noting(changes, sql)))
    assert outcome.states == ["success"]
    assert changes[0] == {"cause": "limit_signal", "from_rate": 40.0, "to_rate": 20.0}
    (summary,) = outcome.summaries
    assert "asked" in summary
    assert "to slow down" in summary
    assert outcome.virtual_s > 100


@pytest.mark.long
async def test_a_long_run_is_many_short_jobs_that_no_job_expiry_can_start_twice(theatre: Theatre) -> None:
    turns: list[Any] = []
    sql = "select served_at from run"
    moments = [(float(at_s), noting(turns, sql)) for at_s in range(10, 300, 10)]
    outcome = await play(theatre, FanoutScript(targets=200, parts=ONE), *moments)
    served = sorted({row["served_at"] for row in turns})
    assert outcome.states == ["success"]
    assert len(served) >= 6
    assert all(later - earlier < timedelta(seconds=60) for earlier, later in pairwise(served))


@pytest.mark.long
async def test_runs_of_one_account_take_turns_and_a_waiting_one_holds_no_slot(theatre: Theatre) -> None:
    jobs: list[Any] = []
    shares: list[Any] = []

    async def begin_another(fanout: Fanout) -> None:
        (row,) = await fanout.rows("select reminder_id from run")
        now = fanout.stage.now()
        async with fanout.person_db.transaction() as tx:
            await make_run(
                tx, row["reminder_id"], trigger="person", fire_at=now, now=now, ids=fanout.ids, beside=True
            )

    sent = (
        "select r.created_at, count(*) filter (where d.state = 'sent') as sent from run r"
        " join delivery d on d.run_id = r.id group by r.id order by r.created_at"
    )
    outcome = await play(
        theatre,
        FanoutScript(targets=150, parts=ONE),
        (10, begin_another),
        (200, noting(shares, sent)),
        (201, noting(jobs, "select dedupe_key from pgqueuer where entrypoint = 'send'")),
    )
    assert outcome.states == ["success", "success"]
    assert outcome.most_in_a_minute <= 43
    first, second = (row["sent"] for row in shares)
    # The second has caught up to a turn or two: it did not wait for the first to end.
    assert second >= 30
    assert first < 150
    assert len(jobs) <= 1


async def test_an_account_that_is_not_established_warms_up_from_ten_a_minute(theatre: Theatre) -> None:
    outcome = await play(theatre, FanoutScript(targets=30, parts=ONE, established=False))
    assert outcome.states == ["success"]
    assert outcome.most_in_a_minute <= 13


@pytest.mark.long
async def test_a_daily_cap_ends_the_day_and_the_summary_names_it(theatre: Theatre) -> None:
    capped = plain.but(lanes={**plain.lanes, "send": LaneDefault(per_minute=40, daily_cap=25)})
    window = Window(8 * 60, 8 * 60 + 10, "UTC")
    outcome = await play(theatre, FanoutScript(targets=60, parts=ONE, profile=capped, window=window))
    assert outcome.states == ["partial"]
    assert outcome.messages == 25
    assert "daily cap" in outcome.summaries[0]
    assert "capacity" not in outcome.summaries[0]


async def test_groups_at_once_are_an_accounts_own_setting(theatre: Theatre) -> None:
    flying: list[Any] = []
    sql = (
        "select a.name, count(p.key) as parts from part p join run r on r.id = p.run_id"
        " join account a on a.id = r.account_id where p.state = 'sending' group by 1"
    )

    async def one_group(fanout: Fanout) -> None:
        (row,) = await fanout.rows("select id from account where name = 'main'")
        async with fanout.person_db.transaction() as tx:
            await set_group_concurrency(tx, row["id"], 1)

    script = FanoutScript(targets=60, parts=ONE, accounts=("main", "second"))
    moments = [(float(at_s), noting(flying, sql)) for at_s in range(60, 85)]
    await play(theatre, script, (1, one_group), *moments)
    assert max(row["parts"] for row in flying if row["name"] == "main") == 1
    assert max(row["parts"] for row in flying if row["name"] == "second") > 1


@pytest.mark.parametrize("how", ["logout", "restrict"])
async def test_a_logout_in_the_middle_fails_nobody_and_the_run_goes_on_after_the_next_sign_in(
    theatre: Theatre, how: str
) -> None:
    during: list[Any] = []

    async def suspend(fanout: Fanout) -> None:
        getattr(fanout.world, how)("main")

    async def restore(fanout: Fanout) -> None:
        fanout.world.restore("main")

    sql = "select r.state, r.reason, count(*) filter (where d.state = 'failed') as failed from run r"
    sql += " join delivery d on d.run_id = r.id group by r.id"
    script = FanoutScript(targets=60, parts=ONE)
    outcome = await play(theatre, script, (30, suspend), (60, noting(during, sql)), (90, restore))
    assert outcome.states == ["success"]
    assert outcome.messages == 60
    (row,) = during
    assert (row["state"], row["failed"]) == ("paused", 0)
    assert "main" in row["reason"]


async def test_a_banned_account_pauses_its_run_with_the_reason_and_others_go_on(theatre: Theatre) -> None:
    during: list[Any] = []
    sql = "select account_name, state, reason from run order by account_name"

    async def ban(fanout: Fanout) -> None:
        fanout.world.ban("main")

    async def restore(fanout: Fanout) -> None:
        fanout.world.restore("main")

    script = FanoutScript(targets=60, parts=ONE, accounts=("main", "second"))
    outcome = await play(theatre, script, (30, ban), (100, noting(during, sql)), (200, restore))
    assert outcome.states == ["success", "success"]
    assert during[0]["state"] == "paused"
    assert "main" in during[0]["reason"]
    assert "banned" in during[0]["reason"]
    assert during[1]["state"] == "success"


async def test_a_process_that_was_stopped_for_a_minute_sends_nothing_stale(theatre: Theatre) -> None:
    calls: list[Any] = []

    async def stop(fanout: Fanout) -> None:
        for process in fanout.processes[:1]:
            process.troupe.paused_until_s = fanout.stage.elapsed_s + 60
        calls.append(len(list(fanout.world.log.calls("send"))))

    script = FanoutScript(targets=60, parts=ONE, processes=2)
    outcome = await play(theatre, script, (20, stop))
    assert outcome.states == ["success"]
    assert outcome.doubled == 0
    assert outcome.most_in_a_minute <= 43


async def test_pausing_resuming_and_cancelling_take_effect_within_seconds(theatre: Theatre) -> None:
    sent: list[int] = []

    def steer(how: str) -> Any:
        async def do(fanout: Fanout) -> None:
            (row,) = await fanout.rows("select id from run")
            now = fanout.stage.now()
            async with fanout.person_db.transaction() as tx:
                if how == "pause":
                    await controls.pause(tx, row["id"])
                elif how == "resume":
                    await controls.resume(tx, row["id"], now=now)
                else:
                    await controls.cancel(tx, row["id"], now=now)

        return do

    async def count(fanout: Fanout) -> None:
        sent.append(len(fanout.world.log.sends()))

    outcome = await play(
        theatre,
        FanoutScript(targets=200, parts=ONE),
        (30, steer("pause")),
        (36, count),
        (90, count),
        (90, steer("resume")),
        (120, count),
        (120, steer("cancel")),
        (126, count),
        (180, count),
    )
    paused, still_paused, resumed, cancelled, still_cancelled = sent
    assert paused == still_paused
    assert resumed > still_paused + 10
    assert cancelled == still_cancelled == outcome.messages
    assert outcome.states == ["cancelled"]
    assert outcome.summaries[0].startswith(f"Cancelled. {cancelled} of 200 groups delivered.")


async def test_an_upload_longer_than_a_turn_is_used_in_the_next_one(theatre: Theatre) -> None:
    forgetful = plain.but(media_life_s=240.0, upload_s=BATCH_S + 10)
    outcome = await play(theatre, FanoutScript(targets=1, parts=("+picture",), profile=forgetful))
    assert (outcome.uploads, outcome.messages, outcome.states) == (1, 1, ["success"])


@pytest.mark.long
async def test_files_that_the_platform_forgets_are_uploaded_again(theatre: Theatre) -> None:
    short = plain.but(media_life_s=400.0)
    script = FanoutScript(targets=400, parts=("+Dear {group}",), profile=short)
    answers: set[str] = set()

    async def note(fanout: Fanout) -> None:
        answers.update(call.outcome for call in fanout.world.log.calls("send"))

    outcome = await play(theatre, script, (700, note))
    assert outcome.states == ["success"]
    assert outcome.uploads > 1
    # They are renewed before they lapse: no message was refused for its file.
    assert answers == {"ok"}


async def test_the_pace_survives_a_restart_without_a_burst(theatre: Theatre) -> None:
    async def kill(fanout: Fanout) -> None:
        for process in fanout.processes:
            process.troupe.crashed = True

    outcome = await play(
        theatre, FanoutScript(targets=90, parts=ONE), *[(at_s, kill) for at_s in (20.0, 50.0, 80.0)]
    )
    assert outcome.states == ["success"]
    assert outcome.most_in_a_minute <= 43
