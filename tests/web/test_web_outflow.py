"""Pages of reminders, runs and accounts."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from outflow_pages import all_targets, plain_form, send_form, text_of
from programs import add_targets
from webworld import START, WebWorld, post

from headgate.domain.pacing import LanePlan, Pace
from headgate.domain.reminders.run_results import Tally
from headgate.storage.channels.channels import upsert_account
from headgate.storage.lanes.lanes import insert_lanes
from headgate.web.pages.reminders.progress import WIDTH, stripes


async def change_rows(world: WebWorld, sql: str, *arguments: Any) -> None:
    async with world.database.transaction() as tx:
        await tx.raw(sql, arguments)


async def plan(world: WebWorld, client: httpx.AsyncClient, account_id: UUID, **changes: Any) -> str:
    """Save a reminder and return its path."""
    fields = plain_form(account_id, await all_targets(world), **changes)
    return (await send_form(client, fields)).headers["location"]


async def begin(world: WebWorld, client: httpx.AsyncClient, account_id: UUID) -> str:
    """Run a reminder now and return the path of the run."""
    made = await post(client, f"{await plan(world, client, account_id)}/run")
    assert made.status_code == 303
    return made.headers["location"]


async def fail_one_of_two(world: WebWorld) -> None:
    await change_rows(world, "update delivery set state = 'sent', latency_ms = 1500 where number = 1")
    await change_rows(world, "update delivery set state = 'failed', error = 'no such group' where number = 2")
    await change_rows(world, "update part set state = 'failed' where delivery = 2")
    await change_rows(
        world, "update run set state = 'partial', summary = 'One of two.', ended_at = $1", START
    )


async def test_an_empty_list_says_what_to_do(world: WebWorld) -> None:
    async with world.signed_in() as client:
        assert "Create the first one" in text_of(await client.get("/reminders"))
        assert "Nothing sent yet" in text_of(await client.get("/runs"))
        assert "Add an account" in text_of(await client.get("/accounts"))


async def test_the_list_shows_how_a_reminder_did_last(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        await begin(world, client, account_id)
        await fail_one_of_two(world)
        page = text_of(await client.get("/reminders"))
    assert "Water Daily at 09:00 · UTC Tue 2026-05-05 09:00 in 21 h main 2 1 of 2 partial" in page


async def test_reminders_are_shown_by_state(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        await plan(world, client, account_id, title="Rain")
        path = await plan(world, client, account_id, title="Snow")
        await post(client, f"{path}/pause")
        assert "Snow" not in (await client.get("/reminders?state=active")).text
        assert "Rain" not in (await client.get("/reminders?state=paused")).text
        assert "No archived reminders" in text_of(await client.get("/reminders?state=archived"))
        assert (await client.get("/reminders?state=lost")).status_code == 422


async def test_a_reminder_is_paused_resumed_copied_archived_and_deleted(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        path = await plan(world, client, account_id)

        async def after(deed: str) -> str:
            answer = await post(client, f"{path}/{deed}")
            assert answer.status_code == 303
            return text_of(await client.get(answer.headers["location"]))

        assert "None while it is paused." in await after("pause")
        assert "Tue 2026-05-05 09:00" in await after("resume")
        assert "Copy of Water" in await after("duplicate")
        assert "Unarchive" in await after("archive")
        assert "None while it is paused." in await after("unarchive")
        assert "This deletes its messages" in text_of(await client.get(f"{path}/delete"))
        assert "Copy of Water" in await after("delete")
        assert (await client.get(path)).status_code == 404


async def test_what_cannot_be_done_is_said_beside_the_reminder(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        path = await plan(world, client, account_id)
        await post(client, f"{path}/run")
        refused = await post(client, f"{path}/delete")
        assert refused.status_code == 422
        assert "A run of 'Water' has not ended yet. Cancel it first" in text_of(refused)
        unknown = await post(client, f"{path}/test", target="nowhere")
        assert "There is no group “nowhere”" in text_of(unknown)


async def test_a_run_by_hand_is_confirmed_with_its_forecast(world: WebWorld) -> None:
    account_id = await add_targets(world, *(f"group {number}" for number in range(90)))
    async with world.database.transaction() as tx:
        lanes = [LanePlan("send", Pace(1.0, 2))]
        await insert_lanes(tx, owners=[str(account_id)], plans=lanes, established=True)
    async with world.signed_in() as client:
        # Noon: an hour is left of the window.
        path = await plan(world, client, account_id, window_end="13:00")
        asked = text_of(await client.get(f"{path}/run"))
    assert "Run now?" in asked
    assert "of 90 groups are not reached before the delivery window closes" in asked
    assert "A delivery window until 13:" in asked


async def test_a_button_pressed_twice_begins_one_run(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.signed_in() as client:
        path = await plan(world, client, account_id)
        for beside in ("", "yes"):
            question = (await client.get(f"{path}/run")).text
            asked = re.search(r'name="run_id" value="([^"]+)"', question)
            assert asked is not None
            # The second time the page warns that a run is under way, and the button confirms it.
            assert f'name="beside" value="{beside}"' in question
            made = [await post(client, f"{path}/run", run_id=asked[1], beside=beside) for _ in range(2)]
            assert [one.headers["location"] for one in made] == [f"/runs/{asked[1]}"] * 2
        assert (await client.get("/runs")).text.count("data-row") == 2


async def test_a_test_goes_to_one_group(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        path = await plan(world, client, account_id)
        assert '<option value="b">' in (await client.get(f"{path}/test")).text
        made = await post(client, f"{path}/test", target="b")
        page = text_of(await client.get(made.headers["location"]))
    assert "Started as a test" in page
    assert "0 of 1 delivered" in page


async def test_a_run_under_way_shows_its_forecast_and_can_be_steered(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        path = await begin(world, client, account_id)
        page = text_of(await client.get(path))
        assert "waiting 0 of 2 delivered" in page
        assert "2 groups, done by about" in page
        await post(client, f"{path}/pause")
        assert "paused by a person" in text_of(await client.get(path))
        refused = await post(client, f"{path}/pause")
        assert (refused.status_code, "cannot be paused" in text_of(refused)) == (422, True)
        await post(client, f"{path}/resume")
        assert "2 groups will not get the message" in text_of(await client.get(f"{path}/cancel"))
        await post(client, f"{path}/cancel")
        ended = text_of(await client.get(path))
        assert "2 skipped cancelled" in ended
        runs = text_of(await client.get("/runs"))
        assert ("Under way" in runs, "Ended Reminder" in runs) == (False, True)


async def test_a_run_that_ended_shows_causes_deliveries_and_latency(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        path = await begin(world, client, account_id)
        await fail_one_of_two(world)
        page = text_of(await client.get(path))
        assert "partial 1 of 2 delivered" in page
        assert "One of two." in page
        assert "1 failed no such group" in page
        assert "median 1.5 s" in page
        failed = (await client.get(f"{path}?state=failed")).text
        assert ('id="delivery-2"' in failed, 'id="delivery-1"' in failed) == (True, False)
        assert "1 group failed and will be retried." in text_of(await client.get(f"{path}/retry"))
        await post(client, f"{path}/retry")
        assert "1 pending" in text_of(await client.get(path))


async def test_a_person_says_what_became_of_an_uncertain_message(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        path = await begin(world, client, account_id)
        await change_rows(world, "update part set state = 'uncertain'")
        await change_rows(world, "update delivery set state = 'uncertain'")
        assert (await client.get(path)).text.count("It arrived") == 2
        await post(client, f"{path}/resolve", delivery="1", arrived="true")
        await post(client, f"{path}/resolve", delivery="2", arrived="false")
        page = text_of(await client.get(path))
        assert ("1 sent" in page, "1 pending" in page) == (True, True)
        refused = await post(client, f"{path}/resolve", delivery="1", arrived="true")
        assert "is not uncertain" in text_of(refused)


async def test_another_account_sends_the_rest(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.signed_in() as client:
        path = await begin(world, client, account_id)
        await fail_one_of_two(world)
        assert "There is no other account" in text_of(await client.get(f"{path}/send-rest"))
        async with world.database.transaction() as tx:
            spare_id = await upsert_account(
                tx, uuid4(), platform="sim", name="spare", established=True, now=START
            )
        assert "1 group that main did not reach" in text_of(await client.get(f"{path}/send-rest"))
        made = await post(client, f"{path}/send-rest", account=str(spare_id))
        page = text_of(await client.get(made.headers["location"]))
        assert ("Started to send the rest of another run" in page, "0 of 1 delivered" in page) == (True, True)
        nobody = await post(client, f"{path}/send-rest")
        assert "Choose the account" in text_of(nobody)


async def test_accounts_show_their_pace_and_why_it_changed(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.database.transaction() as tx:
        lanes = [LanePlan("send", Pace(40.0, 3))]
        await insert_lanes(tx, owners=[str(account_id)], plans=lanes, established=True)
    async with world.signed_in() as client:
        assert "40 messages a minute, of at most 40" in text_of(await client.get("/accounts"))
        changed = await post(client, f"/accounts/{account_id}/pace", per_minute="20", daily_cap="500")
        assert changed.status_code == 303
        page = text_of(await client.get("/accounts"))
        assert "20 messages a minute, of at most 20" in page
        assert "of at most 500" in page
        assert "A person set it 40 20" in page
        wrong = await post(client, f"/accounts/{account_id}/pace", per_minute="0")
        assert (wrong.status_code, "must be a number above 0" in text_of(wrong)) == (422, True)
    async with world.signed_in("bob", "member") as client:
        assert "Set the pace" not in (await client.get("/accounts")).text


async def test_names_are_text_and_nothing_else(world: WebWorld) -> None:
    account_id = await add_targets(world, "<img src=x>")
    async with world.signed_in() as client:
        path = await plan(world, client, account_id, title="<script>alert(1)</script>")
        run = (await post(client, f"{path}/run")).headers["location"]
        pages = ["/reminders", path, f"{path}/edit", f"{path}/run", f"{path}/test", "/runs", run]
        for page in [(await client.get(one)).text for one in pages]:
            assert "<script>alert" not in page
            assert "<img src=x>" not in page


@pytest.mark.parametrize(
    "path",
    ["/reminders/{id}", "/reminders/{id}/edit", "/reminders/{id}/run", "/runs/{id}", "/runs/{id}/cancel"],
)
async def test_what_is_not_there_is_not_found(world: WebWorld, path: str) -> None:
    async with world.signed_in() as client:
        assert (await client.get(path.format(id=uuid4()))).status_code == 404


def test_the_bar_of_a_run_is_full_and_shows_even_a_single_failure() -> None:
    shown = stripes(Tally(pending=9000, sent=999, failed=1))
    assert [one.state for one in shown] == ["sent", "failed", "pending"]
    assert abs(sum(one.width for one in shown) - WIDTH) < 0.1
    assert min(one.width for one in shown) > 3
    assert stripes(Tally()) == []
