"""The API of targets, media and reminders."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from programs import add_targets, draft, program, target_ids
from webworld import WebWorld

from headgate.outflow.reminders.media import MAX_MEDIA_BYTES


async def test_targets_come_in_pages_by_title_and_by_words(world: WebWorld) -> None:
    account_id = await add_targets(world, "b lake", "A lake", "a hill", "C & d/% lake")
    seen: list[str] = []
    async with program(world, "read") as client:
        following = ""
        while following is not None:
            query = {"limit": 2, "after": following, "q": "LAKE", "account_id": str(account_id)}
            answer = (await client.get("/api/v1/targets", params=query)).json()
            seen += [one["title"] for one in answer["targets"]]
            following = answer["next"]
        nobody = await client.get("/api/v1/targets", params={"account_id": str(uuid4())})
        broken = await client.get("/api/v1/targets", params={"after": "x"})
    assert seen == ["A lake", "b lake", "C & d/% lake"]
    assert nobody.json()["targets"] == []
    assert broken.status_code == 400


async def test_lists_are_made_changed_and_deleted(world: WebWorld) -> None:
    await add_targets(world, "a", "b", "c")
    async with program(world) as client:
        a, b, c = await target_ids(client)
        made = await client.post("/api/v1/target-lists", json={"name": "Friends", "targets": [c, a]})
        assert (made.status_code, made.json()["members"]) == (201, 2)
        path = f"/api/v1/target-lists/{made.json()['id']}"
        taken = await client.post("/api/v1/target-lists", json={"name": "friends"})
        assert taken.status_code == 422
        assert taken.json()["detail"] == "There is already a list 'friends'. Choose another name."
        changed = await client.post(path, json={"name": "Good friends", "add": [b], "remove": [a]})
        assert (changed.json()["name"], changed.json()["members"]) == ("Good friends", 2)
        first = (await client.get(f"{path}/members", params={"limit": 1})).json()
        rest = (await client.get(f"{path}/members", params={"after": first["next"]})).json()
        assert [one["id"] for one in first["members"] + rest["members"]] == [c, b]
        assert rest["next"] is None
        assert (await client.delete(path)).status_code == 204
        assert (await client.delete(path)).status_code == 404
        assert (await client.get("/api/v1/target-lists")).json() == {"lists": []}


async def test_media_is_uploaded_once_and_limited(world: WebWorld) -> None:
    async with program(world) as client:
        first = await client.post("/api/v1/media", files={"file": ("a.png", b"png", "image/png")})
        again = await client.post("/api/v1/media", files={"file": ("a.png", b"png", "image/png")})
        assert (first.status_code, first.json()["id"]) == (201, again.json()["id"])
        known = await client.get(f"/api/v1/media/{first.json()['id']}")
        assert (known.json()["mime_type"], known.json()["size_bytes"]) == ("image/png", 3)
        assert (await client.get(f"/api/v1/media/{uuid4()}")).status_code == 404
        roomy = await client.post("/api/v1/media", files={"file": ("b.bin", bytes(2_000_000))})
        assert roomy.status_code == 201
        large = await client.post("/api/v1/media", files={"file": ("c.bin", bytes(MAX_MEDIA_BYTES + 1))})
        assert (large.status_code, "at most 50 MB" in large.json()["detail"]) == (422, True)
        huge = await client.post("/api/v1/media", files={"file": ("d.bin", bytes(MAX_MEDIA_BYTES + 100_000))})
        assert huge.status_code == 413


async def test_a_reminder_is_planned_shown_and_replaced(world: WebWorld) -> None:
    account_id = await add_targets(world, "lake", "hill")
    async with program(world) as client:
        made = await client.post("/api/v1/reminders", json=await draft(client, account_id))
        assert made.status_code == 201
        reminder = made.json()
        assert (reminder["schedule"], reminder["window_start"], reminder["window_end"]) == (
            "Daily at 09:00",
            "06:00",
            "18:00",
        )
        assert reminder["due_at"] == "2026-05-05T09:00:00Z"
        assert [target["title"] for target in reminder["targets"]] == ["hill", "lake"]
        path = f"/api/v1/reminders/{reminder['id']}"
        assert (await client.get(path)).json() == reminder
        shown = (await client.get(f"{path}/preview")).json()
        assert shown["groups"][0] == {"group": "hill", "messages": [{"text": "Dear hill", "file": ""}]}
        body = await draft(
            client,
            account_id,
            cron="",
            once_at="2026-06-01T22:00:00",
            window_start="20:00",
            window_end="06:00",
        )
        changed = (await client.post(path, json=body)).json()
        assert (changed["schedule"], changed["window_end"]) == ("Once on 2026-06-01 at 22:00", "06:00")


async def test_a_reminder_is_paused_resumed_archived_copied_and_deleted(world: WebWorld) -> None:
    account_id = await add_targets(world, "lake")
    async with program(world) as client:
        made = await client.post("/api/v1/reminders", json=await draft(client, account_id))
        path = f"/api/v1/reminders/{made.json()['id']}"
        states = [
            (await client.post(f"{path}/{action}")).json()["state"]
            for action in ("pause", "resume", "archive", "unarchive")
        ]
        assert states == ["paused", "active", "archived", "paused"]
        copy = await client.post(f"{path}/duplicate")
        assert (copy.status_code, copy.json()["title"]) == (201, "Copy of Water")
        assert (await client.delete(path)).status_code == 204
        for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("GET", "/preview")):
            assert (await client.request(method, path + tail)).status_code == 404
        listed = (await client.get("/api/v1/reminders")).json()
        assert [(one["title"], one["targets"]) for one in listed["reminders"]] == [("Copy of Water", 1)]


async def test_reminders_come_in_pages_newest_first(world: WebWorld) -> None:
    account_id = await add_targets(world, "lake")
    seen: list[str] = []
    async with program(world) as client:
        for number in range(5):
            body = await draft(client, account_id, title=f"R{number}")
            await client.post("/api/v1/reminders", json=body)
        following = ""
        while following is not None:
            query = {"limit": 2, "before": following, "state": "active"}
            answer = (await client.get("/api/v1/reminders", params=query)).json()
            seen += [one["title"] for one in answer["reminders"]]
            following = answer["next"]
    assert seen == ["R4", "R3", "R2", "R1", "R0"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cron": "0 20 * * *"}, "20:00 is outside the delivery window 06:00–18:00"),
        ({"zone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ({"window_start": "6"}, "'6' is not a time of day"),
        ({"parts": []}, "1 to 20 messages"),
        ({"targets": []}, "needs a target"),
        ({"cron": ""}, "one time or a repetition"),
        ({"parts": [{"text": "a\u0000b"}]}, "cannot be sent"),
        ({"account_id": str(uuid4())}, "no such account"),
    ],
)
async def test_what_cannot_be_planned_is_answered_with_the_reason(
    world: WebWorld, changes: dict[str, Any], sentence: str
) -> None:
    account_id = await add_targets(world, "lake")
    async with program(world) as client:
        body = await draft(client, account_id, **changes)
        for path in ("/api/v1/reminders", "/api/v1/reminders/preview"):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
            assert sentence in answer.json()["detail"]
        assert (await client.get("/api/v1/reminders")).json()["reminders"] == []


async def test_a_time_with_an_offset_is_refused_because_the_zone_says_it(world: WebWorld) -> None:
    account_id = await add_targets(world, "lake")
    async with program(world) as client:
        body = await draft(client, account_id, cron="", once_at="2026-06-01T09:00:00+08:00")
        answer = await client.post("/api/v1/reminders", json=body)
    assert (answer.status_code, answer.json()["faults"][0]["where"]) == (422, "body.once_at")


async def test_a_preview_of_a_draft_keeps_nothing(world: WebWorld) -> None:
    account_id = await add_targets(world, "lake")
    async with program(world, "read") as client:
        body = await draft(client, account_id)
        shown = await client.post("/api/v1/reminders/preview", json=body)
        assert (shown.status_code, len(shown.json()["next_sends"])) == (200, 5)
        assert (await client.post("/api/v1/reminders", json=body)).status_code == 403
        assert (await client.get("/api/v1/reminders")).json()["reminders"] == []
