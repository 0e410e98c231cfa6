"""Runs of reminders by a person's wish: forecasts before them, runs at once, and tests."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel

from headgate.outflow.reminders.preflight import Outlook
from headgate.outflow.reminders.runs import make_run, make_test_run
from headgate.web.api.reminders.reminders import DraftBody
from headgate.web.api.reminders.runs import FullRunAnswer, answer_run
from headgate.web.api.reminders.targets import MANY_IDS_BYTES
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class TargetBody(BaseModel):
    """The target of a test."""

    target_id: UUID


class DraftTestBody(TargetBody):
    """A draft to test."""

    draft: DraftBody


@routes.post("/reminders/forecast", door=scope("read"), tags=["runs"], largest_body_bytes=MANY_IDS_BYTES)
async def foresee_draft(site: CurrentSite, body: DraftBody) -> Outlook:
    """Forecast the next send of a draft."""
    async with site.transaction() as tx:
        return await site.preflight.of_draft(tx, body.draft())


@routes.post(
    "/reminders/test",
    door=scope("write"),
    status_code=201,
    tags=["runs"],
    largest_body_bytes=MANY_IDS_BYTES,
)
async def test_draft(site: CurrentSite, body: DraftTestBody) -> FullRunAnswer:
    """Send a draft to one group, ahead of everything else and at any hour."""
    async with site.transaction() as tx:
        run_id = await make_test_run(
            tx, body.draft.draft(), body.target_id, ids=site.parts.ids, now=site.parts.clock.now()
        )
        return await answer_run(tx, run_id)


@routes.get("/reminders/{reminder_id}/forecast", door=scope("read"), tags=["runs"])
async def foresee(
    site: CurrentSite,
    reminder_id: UUID,
    at_once: bool = False,
) -> Outlook:
    """Forecast the next send of a reminder, or with `at_once` a run that starts now."""
    async with site.transaction() as tx:
        return await site.preflight.of_reminder(tx, reminder_id, at_once=at_once)


@routes.post("/reminders/{reminder_id}/run", door=scope("write"), status_code=201, tags=["runs"])
async def run_now(site: CurrentSite, reminder_id: UUID, beside: bool = False) -> FullRunAnswer:
    """Send a reminder now, whatever its schedule says, but within its delivery window.

    Refused during a run of it, unless `beside` asks for a second one.
    """
    now = site.parts.clock.now()
    async with site.transaction() as tx:
        run_id = await make_run(
            tx, reminder_id, trigger="person", fire_at=now, now=now, ids=site.parts.ids, beside=beside
        )
        return await answer_run(tx, run_id)


@routes.post("/reminders/{reminder_id}/test", door=scope("write"), status_code=201, tags=["runs"])
async def test(site: CurrentSite, reminder_id: UUID, body: TargetBody) -> FullRunAnswer:
    """Send a reminder to one group, ahead of everything else and at any hour."""
    async with site.transaction() as tx:
        run_id = await make_test_run(
            tx, reminder_id, body.target_id, ids=site.parts.ids, now=site.parts.clock.now()
        )
        return await answer_run(tx, run_id)
