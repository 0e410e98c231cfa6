"""The API of runs, forecasts, and the pace of accounts."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from programs import add_targets, draft, program, target_ids
from webworld import START, WebWorld, post

from headgate.domain.pacing import LanePlan, Pace
from headgate.storage.channels.channels import upsert_account
from headgate.storage.lanes.lanes import insert_lanes

WHOLE_DAY = {"window_start": "00:00", "window_end": "24:00"}


async def rows(world: WebWorld, sql: str, *arguments: Any) -> list[dict[str, Any]]:
    async with world.database.transaction() as tx:
        return await tx.raw(sql, arguments)


async def add_reminder(client: httpx.AsyncClient, account_id: UUID, **changes: Any) -> str:
    body = await draft(client, account_id, **(WHOLE_DAY | changes))
    return (await client.post("/api/v1/reminders", json=body)).json()["id"]


async def begin(client: httpx.AsyncClient, account_id: UUID, **changes: Any) -> str:
    reminder_id = await add_reminder(client, account_id, **changes)
    made = await client.post(f"/api/v1/reminders/{reminder_id}/run")
    assert made.status_code == 201, made.text
    return made.json()["run"]["id"]


async def test_a_run_begins_and_is_shown_with_its_deliveries(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b", "c")
    async with program(world) as client:
        run_id = await begin(client, account_id, parts=[{"text": "Dear {group}"}, {"text": "Bye"}])
        shown = (await client.get(f"/api/v1/runs/{run_id}")).json()
        assert (shown["run"]["state"], shown["run"]["trigger"]) == ("waiting", "person")
        assert (shown["run"]["window_start"], shown["run"]["window_end"]) == ("00:00", "24:00")
        assert (shown["run"]["pending"], shown["messages"], shown["messages_sent"]) == (3, 6, 0)
        path = f"/api/v1/runs/{run_id}/deliveries"
        first = (await client.get(path, params={"limit": 2})).json()
        rest = (await client.get(path, params={"limit": 2, "after": first["next"]})).json()
        assert [one["target_title"] for one in first["deliveries"] + rest["deliveries"]] == ["a", "b", "c"]
        assert [part["state"] for part in rest["deliveries"][0]["parts"]] == ["planned", "planned"]
        assert rest["next"] is None
        assert (await client.get(path, params={"state": "failed"})).json()["deliveries"] == []
        assert (await client.get(path, params={"after": 2**40})).status_code == 422


async def test_runs_come_in_pages_and_by_state(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with program(world) as client:
        reminder_id = await add_reminder(client, account_id)
        again = f"/api/v1/reminders/{reminder_id}/run?beside=true"
        made = [(await client.post(again)).json() for _ in range(5)]
        assert (await client.post(f"/api/v1/reminders/{reminder_id}/run")).status_code == 422
        ids = [one["run"]["id"] for one in made]
        await client.post(f"/api/v1/runs/{ids[0]}/cancel")
        seen: list[str] = []
        following = ""
        while following is not None:
            answer = (await client.get("/api/v1/runs", params={"limit": 2, "before": following})).json()
            seen += [run["id"] for run in answer["runs"]]
            following = answer["next"]
        assert sorted(seen) == sorted(ids)

        async def count(**query: Any) -> int:
            return len((await client.get("/api/v1/runs", params=query)).json()["runs"])

        assert await count(active=True) == 4
        assert await count(state=["cancelled", "success"]) == 1
        assert await count(reminder_id=reminder_id, account_id=str(account_id)) == 5
        assert await count(reminder_id=str(uuid4())) == 0
        assert (await client.get("/api/v1/runs", params={"before": "x"})).status_code == 400
        assert (await client.get("/api/v1/runs", params={"state": "done"})).status_code == 422


async def test_a_run_is_paused_resumed_cancelled_and_tried_again(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with program(world) as client:
        path = f"/api/v1/runs/{await begin(client, account_id)}"
        assert (await client.post(f"{path}/pause")).json()["run"]["paused_by"] == "person"
        refused = await client.post(f"{path}/pause")
        assert refused.status_code == 422
        assert "cannot be paused" in refused.json()["detail"]
        assert (await client.post(f"{path}/resume")).json()["run"]["reason"] == "waits for its turn"
        ended = (await client.post(f"{path}/cancel")).json()
        assert (ended["run"]["state"], ended["run"]["skipped"]) == ("cancelled", 2)
        assert ended["causes"] == [
            {"state": "skipped", "skip_reason": "cancelled", "error": "cancelled", "deliveries": 2}
        ]
        assert (await client.post(f"{path}/retry")).status_code == 422
        again = (await client.post(f"{path}/retry", json={"skipped": True})).json()
        assert (again["run"]["state"], again["run"]["pending"]) == ("waiting", 2)


async def test_a_person_resolves_what_is_uncertain(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with program(world) as client:
        path = f"/api/v1/runs/{await begin(client, account_id)}"
        await rows(world, "update part set state = 'uncertain' where delivery = 1")
        await rows(world, "update delivery set state = 'uncertain' where number = 1")
        resolved = await client.post(f"{path}/resolve", json={"delivery": 1, "arrived": True})
        assert resolved.json()["run"]["sent"] == 1
        assert (
            await client.post(f"{path}/resolve", json={"delivery": 2, "arrived": True})
        ).status_code == 422
        assert (
            await client.post(f"{path}/resolve", json={"delivery": 0, "arrived": True})
        ).status_code == 422


async def test_another_account_sends_the_rest(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with world.database.transaction() as tx:
        spare_id = await upsert_account(
            tx, uuid4(), platform="sim", name="spare", established=True, now=START
        )
    async with program(world) as client:
        path = f"/api/v1/runs/{await begin(client, account_id)}/send-rest"
        assert (await client.post(path, json={"account_id": str(account_id)})).status_code == 422
        rest = await client.post(path, json={"account_id": str(spare_id)})
        assert rest.status_code == 201
        assert (rest.json()["run"]["account_name"], rest.json()["run"]["total"]) == ("spare", 2)


async def test_drafts_and_reminders_are_tested_with_one_group(world: WebWorld) -> None:
    account_id = await add_targets(world, "a", "b")
    async with program(world) as client:
        reminder_id = await add_reminder(client, account_id)
        first, _ = await target_ids(client)
        kept = await client.post(f"/api/v1/reminders/{reminder_id}/test", json={"target_id": first})
        body = {"draft": await draft(client, account_id), "target_id": first}
        fresh = await client.post("/api/v1/reminders/test", json=body)
        for answer, reminder in ((kept, reminder_id), (fresh, None)):
            assert answer.status_code == 201, answer.text
            run = answer.json()["run"]
            assert (run["trigger"], run["total"], run["reminder_id"]) == ("test", 1, reminder)
        nobody = await client.post(f"/api/v1/reminders/{reminder_id}/test", json={"target_id": str(uuid4())})
        assert nobody.status_code == 422


async def test_forecasts_are_made_of_drafts_reminders_and_runs(world: WebWorld) -> None:
    account_id = await add_targets(world, *(f"group {number}" for number in range(90)))
    async with world.database.transaction() as tx:
        plans = [LanePlan("send", Pace(1.0, 2))]
        await insert_lanes(tx, owners=[str(account_id)], plans=plans, established=True)
    async with program(world) as client:
        # Noon: an hour is left of a window that closes at 13:00.
        hour = {"window_start": "09:00", "window_end": "13:00"}
        reminder_id = await add_reminder(client, account_id, **hour)
        path = f"/api/v1/reminders/{reminder_id}/forecast"
        tomorrow = (await client.get(path)).json()
        assert (tomorrow["targets"], tomorrow["forecast"]["targets_unreached"]) == (90, 0)
        assert tomorrow["forecast"]["ends_at"].startswith("2026-05-05T10:2")
        now = (await client.get(path, params={"at_once": True})).json()
        assert 25 < now["forecast"]["targets_unreached"] < 35
        assert now["advice"][0].startswith("A delivery window until 13:")
        body = await draft(client, account_id, **hour)
        assert (await client.post("/api/v1/reminders/forecast", json=body)).json()["text"] == tomorrow["text"]
        made = await client.post(f"/api/v1/reminders/{reminder_id}/run")
        run_path = f"/api/v1/runs/{made.json()['run']['id']}"
        under_way = (await client.get(f"{run_path}/forecast")).json()
        assert under_way["forecast"]["targets_unreached"] == now["forecast"]["targets_unreached"]
        assert (await client.get(path)).json()["queued"] == 90
        await client.post(f"{run_path}/cancel")
        assert (await client.get(f"{run_path}/forecast")).status_code == 404


async def test_the_pace_of_an_account_is_shown_and_set_by_administrators(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    async with world.database.transaction() as tx:
        plans = [LanePlan("send", Pace(40.0, 3))]
        await insert_lanes(tx, owners=[str(account_id)], plans=plans, established=True)
    path = f"/api/v1/accounts/{account_id}/pace"
    async with program(world) as client:
        (account,) = (await client.get("/api/v1/accounts")).json()["accounts"]
        assert (account["id"], account["name"], account["state"]) == (str(account_id), "main", "active")
        assert (await client.get(path)).json()["rate"] == 40
        assert (await client.post(path, json={"per_minute": 20})).status_code == 403
    async with program(world, "admin") as client:
        changed = await client.post(path, json={"per_minute": 20, "daily_cap": 500, "groups": 2})
        assert changed.status_code == 200, changed.text
        pace = changed.json()
        assert (pace["rate"], pace["lane"]["daily_cap"], pace["lane"]["pinned"]) == (20, 500, True)
        assert (pace["group_concurrency"], pace["groups_at_once"]) == (2, 2)
        assert [(one["from_rate"], one["to_rate"], one["cause"]) for one in pace["changes"]] == [
            (40, 20, "adjusted")
        ]
        back = (await client.post(path, json={"daily_cap": "none", "groups": "default"})).json()
        assert (back["lane"]["daily_cap"], back["group_concurrency"], back["groups_at_once"]) == (
            None,
            None,
            3,
        )
        wrong = await client.post(path, json={"burst": 1})
        assert (wrong.status_code, "A burst is 2 to" in wrong.json()["detail"]) == (422, True)


async def test_an_account_without_a_connector_here_cannot_be_given_a_pace(world: WebWorld) -> None:
    account_id = await add_targets(world, "a")
    path = f"/api/v1/accounts/{account_id}/pace"
    async with program(world, "admin") as client:
        assert (await client.get(path)).json()["lane"] is None
        refused = await client.post(path, json={"per_minute": 20})
        assert refused.status_code == 422
        assert "Install its connector" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/runs/{id}", None),
        ("GET", "/runs/{id}/deliveries", None),
        ("GET", "/runs/{id}/forecast", None),
        ("POST", "/runs/{id}/pause", None),
        ("POST", "/runs/{id}/resume", None),
        ("POST", "/runs/{id}/cancel", None),
        ("POST", "/runs/{id}/retry", None),
        ("POST", "/runs/{id}/resolve", {"delivery": 1, "arrived": True}),
        ("POST", "/runs/{id}/send-rest", {"account_id": str(uuid4())}),
        ("GET", "/reminders/{id}/forecast", None),
        ("POST", "/reminders/{id}/run", None),
        ("POST", "/reminders/{id}/test", {"target_id": str(uuid4())}),
        ("GET", "/accounts/{id}/pace", None),
    ],
)
async def test_what_is_not_there_is_not_found(
    world: WebWorld, method: str, path: str, body: dict[str, Any] | None
) -> None:
    async with program(world) as client:
        answer = await client.request(method, "/api/v1" + path.format(id=uuid4()), json=body)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no such")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/runs/{id}/pause", "There is no such run."),
        ("/runs/{id}/cancel", "There is no such run."),
        ("/reminders/{id}/pause", "There is no such reminder."),
        ("/reminders/{id}/run", "There is no such reminder."),
        ("/reminders/{id}/edit", "There is no such reminder."),
        ("/accounts/{id}/pace", "There is no such account."),
    ],
)
async def test_a_page_says_the_same_of_what_is_not_there(world: WebWorld, path: str, said: str) -> None:
    async with world.signed_in() as client:
        answer = await post(client, path.format(id=uuid4()), per_minute="40")
    assert answer.status_code == 404
    assert said in answer.text
