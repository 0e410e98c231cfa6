"""Runs: what is being sent, what came of it, and what a person decides about it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.domain.reminders.run_results import DeliveryState, RunState
from headgate.domain.reminders.windows import minute_text
from headgate.domain.words.fields import plain_fields
from headgate.outflow.reminders.preflight import Outlook
from headgate.outflow.reminders.runs import make_remainder_run
from headgate.outflow.sending import controls
from headgate.storage.database import Tx
from headgate.storage.sending.run_overview import (
    ACTIVE_STATES,
    DeliveryLine,
    RunCursor,
    RunLine,
    get_figures,
    list_deliveries,
    list_runs,
)
from headgate.storage.sending.sending import ErrorCount, count_errors
from headgate.web.cursors import cut_page, read_time_cursor, time_cursor
from headgate.web.door import Routes, scope
from headgate.web.errors import not_found
from headgate.web.parts import CurrentSite, Site

routes = Routes("/api/v1", in_schema=True)

GREATEST_NUMBER = 2**31 - 1


class RunAnswer(BaseModel):
    """A run, with the number of its deliveries in each state."""

    id: UUID
    reminder_id: UUID | None
    rest_of: UUID | None = Field(description="The run whose rest this one sends.")
    account_id: UUID | None
    account_name: str
    trigger: Literal["schedule", "person", "test", "rest", "library"]
    title: str
    scheduled_at: datetime
    zone: str
    window_start: str
    window_end: str
    at_close: Literal["stop", "carry"]
    state: RunState
    reason: str
    paused_by: Literal["person", "account"] | None
    opens_at: datetime
    closes_at: datetime | None
    carried: int
    limit_signals: int
    total: int
    pending: int
    sending: int
    sent: int
    failed: int
    skipped: int
    uncertain: int
    summary: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    """When a run that waits is tried again."""
    joined: int
    """Later times of its reminder at which it was still under way; no run of their own was made."""

    @classmethod
    def of(cls, run: RunLine) -> RunAnswer:
        window = {"window_start": minute_text(run.window_start), "window_end": minute_text(run.window_end)}
        return cls.model_validate(plain_fields(run) | window)


class RunsAnswer(BaseModel):
    """A page of runs, newest first; pass `next` as `before` to get the next page."""

    runs: list[RunAnswer]
    next: str | None


class FullRunAnswer(BaseModel):
    """A run with counts of its messages; latencies are those of delivered messages."""

    run: RunAnswer
    parts: int
    messages: int
    messages_sent: int
    median_ms: float | None
    p95_ms: float | None
    causes: list[ErrorCount]


class DeliveriesAnswer(BaseModel):
    """Deliveries in their order; pass `next` as `after` to get the next page."""

    deliveries: list[DeliveryLine]
    next: int | None


class RetryBody(BaseModel):
    """What to retry besides failures; uncertain messages may arrive twice."""

    skipped: bool = False
    uncertain: bool = False


class ResolveBody(BaseModel):
    """Whether the message arrived in the group; if not, it is sent again."""

    delivery: int = Field(ge=1, le=GREATEST_NUMBER)
    arrived: bool


class RestBody(BaseModel):
    """The account that sends the rest; uncertain messages may arrive twice."""

    account_id: UUID
    include_uncertain: bool = False


@routes.get("/runs", door=scope("read"), tags=["runs"])
async def list_all(
    site: CurrentSite,
    reminder_id: UUID | None = None,
    account_id: UUID | None = None,
    state: Annotated[list[RunState] | None, Query()] = None,
    active: bool = False,
    before: str = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunsAnswer:
    """List runs, newest first; `active` limits to unfinished ones."""
    async with site.transaction() as tx:
        found = await list_runs(
            tx,
            reminder_id=reminder_id,
            account_id=account_id,
            states=ACTIVE_STATES if active else state,
            below=read_time_cursor(before, RunCursor),
            limit=limit + 1,
        )
    lines, following = cut_page(found, limit, lambda run: time_cursor(run.created_at, run.id))
    return RunsAnswer(runs=[RunAnswer.of(line) for line in lines], next=following)


@routes.get("/runs/{run_id}", door=scope("read"), tags=["runs"])
async def get(site: CurrentSite, run_id: UUID) -> FullRunAnswer:
    """Show the progress and result of a run."""
    async with site.transaction() as tx:
        return await answer_run(tx, run_id)


@routes.get("/runs/{run_id}/deliveries", door=scope("read"), tags=["runs"])
async def list_of_run(
    site: CurrentSite,
    run_id: UUID,
    state: DeliveryState | None = None,
    after: Annotated[int, Query(ge=0, le=GREATEST_NUMBER)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> DeliveriesAnswer:
    """List the result for each group, in sending order."""
    async with site.transaction() as tx:
        await controls.get_run(tx, run_id)
        found = await list_deliveries(tx, run_id, state=state, after=after, limit=limit + 1)
    lines = found[:limit]
    following = lines[-1].number if len(found) > limit else None
    return DeliveriesAnswer(deliveries=lines, next=following)


@routes.get("/runs/{run_id}/forecast", door=scope("read"), tags=["runs"])
async def foresee(site: CurrentSite, run_id: UUID) -> Outlook:
    """Forecast when a run will end, and which groups it will not reach."""
    async with site.transaction() as tx:
        outlook = await site.preflight.of_run(tx, await controls.get_run(tx, run_id))
    if outlook is None:
        raise not_found("The run has ended or has no account, so there is no forecast.")
    return outlook


@routes.post("/runs/{run_id}/pause", door=scope("write"), tags=["runs"])
async def pause(site: CurrentSite, run_id: UUID) -> FullRunAnswer:
    """Pause a run; its delivery window still closes on time."""
    async with site.transaction() as tx:
        await controls.pause(tx, run_id)
        return await answer_run(tx, run_id)


@routes.post("/runs/{run_id}/resume", door=scope("write"), tags=["runs"])
async def resume(site: CurrentSite, run_id: UUID) -> FullRunAnswer:
    """Resume a paused run where it stopped."""
    async with site.transaction() as tx:
        await controls.resume(tx, run_id, now=_now(site))
        return await answer_run(tx, run_id)


@routes.post("/runs/{run_id}/cancel", door=scope("write"), tags=["runs"])
async def cancel(site: CurrentSite, run_id: UUID) -> FullRunAnswer:
    """Cancel a run; messages already on their way still arrive."""
    async with site.transaction() as tx:
        await controls.cancel(tx, run_id, now=_now(site))
        return await answer_run(tx, run_id)


@routes.post("/runs/{run_id}/retry", door=scope("write"), tags=["runs"])
async def retry(site: CurrentSite, run_id: UUID, body: RetryBody | None = None) -> FullRunAnswer:
    """Retry what failed in a finished run; what was sent is not sent again."""
    wish = body or RetryBody()
    async with site.transaction() as tx:
        await controls.retry(tx, run_id, skipped=wish.skipped, uncertain=wish.uncertain, now=_now(site))
        return await answer_run(tx, run_id)


@routes.post("/runs/{run_id}/resolve", door=scope("write"), tags=["runs"])
async def resolve(site: CurrentSite, run_id: UUID, body: ResolveBody) -> FullRunAnswer:
    """Say whether an uncertain message arrived."""
    async with site.transaction() as tx:
        await controls.resolve(tx, run_id, body.delivery, arrived=body.arrived, now=_now(site))
        return await answer_run(tx, run_id)


@routes.post("/runs/{run_id}/send-rest", door=scope("write"), status_code=201, tags=["runs"])
async def send_rest(site: CurrentSite, run_id: UUID, body: RestBody) -> FullRunAnswer:
    """Send the rest of a run from another account; returns the new run."""
    async with site.transaction() as tx:
        new_id = await make_remainder_run(
            tx,
            run_id,
            body.account_id,
            include_uncertain=body.include_uncertain,
            ids=site.parts.ids,
            now=_now(site),
        )
        return await answer_run(tx, new_id)


async def answer_run(tx: Tx, run_id: UUID) -> FullRunAnswer:
    """Return all that is told of a run."""
    run = await controls.get_run(tx, run_id)
    figures = await get_figures(tx, run_id)
    causes = await count_errors(tx, run_id)
    return FullRunAnswer(run=RunAnswer.of(run), causes=causes, **vars(figures))


def _now(site: Site) -> datetime:
    return site.parts.clock.now()
