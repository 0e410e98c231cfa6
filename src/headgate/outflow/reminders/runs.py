"""Making runs: what a reminder holds becomes rows for its account's sender, all at once.

A run takes down everything as it is at its start. Its deliveries are there before the first message is sent,
so that progress can be seen, and a crash at any point leaves either the whole run or nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.domain.reminders.run_results import Tally
from headgate.domain.reminders.windows import DAY_MINUTES, Window
from headgate.domain.words.states import skip_text
from headgate.domain.words.waiting import FOR_ITS_TURN, for_window
from headgate.kernel.ids import Ids
from headgate.outflow.reminders import reminders as reminder_plans
from headgate.outflow.reminders.drafts import Draft, check_words, draft_of
from headgate.outflow.sending.controls import no_such_run
from headgate.outflow.sending.endings import fired
from headgate.outflow.sending.resting import wake_sender
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.reminders import reminders
from headgate.storage.reminders.reminders import Reminder
from headgate.storage.sending import remainders, run_making
from headgate.storage.sending.remainders import OldRun
from headgate.storage.sending.run_making import NewRun, RunUnderWay, SendingAccount, Trigger
from headgate.storage.sending.run_overview import get_run

TEST_PRIORITY = 10
CHANGED = Event("runs")


class UnderWay(UserError):
    """A run of the reminder has not ended, and a person must say whether another one is wanted."""

    def __init__(self, title: str, run: RunUnderWay) -> None:
        super().__init__(
            f"A run of {title!r} is under way: {run.sent:,} of {run.total:,} delivered.",
            remedy="Wait for its end or cancel it, or confirm that everybody shall get it twice.",
        )


@dataclass(frozen=True)
class Opening:
    """When a run can be sent: the stretch of its window that is open or comes next."""

    zone: str
    window_start: int
    window_end: int
    opens_at: datetime
    closes_at: datetime | None
    due_at: datetime | None
    reason: str


def opening_of(window: Window, *, now: datetime) -> Opening:
    """Return when a run that is made now can be sent, by the clock and not by the day of its fire."""
    stretch = window.stretch(now)
    is_open = stretch.opens_at <= now
    return Opening(
        zone=window.zone,
        window_start=window.start,
        window_end=window.end,
        opens_at=stretch.opens_at,
        closes_at=stretch.closes_at,
        due_at=max(now, stretch.opens_at),
        reason=FOR_ITS_TURN if is_open else for_window(stretch.opens_at, window.zone),
    )


async def make_run(
    tx: Tx,
    reminder_id: UUID,
    *,
    trigger: Trigger,
    fire_at: datetime,
    now: datetime,
    ids: Ids,
    run_id: UUID | None = None,
    beside: bool = False,
) -> UUID:
    """Make a run of all that a reminder holds now, and return its id.

    Asking twice under one `run_id`, like a person who presses a button twice, makes one run. While a run of
    the reminder is under way, another one begins only if the person says so (`beside`).
    """
    reminder = await reminders.lock_reminder(tx, reminder_id)
    if run_id is not None and await get_run(tx, run_id) is not None:
        return run_id
    if reminder is None:
        raise reminder_plans.no_such_reminder()
    if reminder.state == "archived":
        raise UserError(f"{reminder.title!r} is archived.", remedy="Restore it from the archive first.")
    if reminder.account_id is None:
        raise UserError(
            f"{reminder.title!r} has no account: the one that sent it was removed.",
            remedy="Give it another account.",
        )
    if not beside and (other := await run_making.find_run_under_way(tx, reminder_id)):
        raise UnderWay(reminder.title, other)
    if not await run_making.count_targets(tx, reminder_id):
        raise UserError(f"{reminder.title!r} has no targets.", remedy="Give it a target or a list.")
    made_id = await make_run_of(
        tx, reminder, trigger=trigger, fire_at=fire_at, now=now, ids=ids, run_id=run_id
    )
    if made_id is None:
        raise UserError(f"{reminder.title!r} already has a run for this time.")
    return made_id


async def make_run_of(
    tx: Tx,
    reminder: Reminder,
    *,
    trigger: Trigger,
    fire_at: datetime,
    now: datetime,
    ids: Ids,
    run_id: UUID | None = None,
) -> UUID | None:
    """Make a run of a reminder that is locked; nothing if this fire has one already."""
    run = NewRun(
        id=run_id or ids.new(),
        reminder_id=reminder.id,
        account_id=reminder.account_id,
        account_name=reminder.account_name,
        trigger=trigger,
        title=reminder.title,
        fire_at=fire_at,
        at_close=reminder.at_close,
        **vars(opening_of(reminder.window, now=now)),
    )
    if not await run_making.insert_run(tx, run, now=now):
        return None
    await run_making.fill_from_reminder(tx, run.id, reminder.id)
    await _announce(tx, run, now=now)
    return run.id


async def make_test_run(tx: Tx, plan: Draft | UUID, target_id: UUID, *, ids: Ids, now: datetime) -> UUID:
    """Send what a draft or a reminder holds to one target, at once and before all other runs."""
    draft = plan if isinstance(plan, Draft) else draft_of(await reminder_plans.get(tx, plan))
    content = check_words(draft)
    account = await _account(tx, content.account_id)
    check = await reminders.check_plan(tx, content)
    if check is not None and check.strange_media:
        raise UserError("One of the files no longer exists.", remedy="Add it again.")
    run = NewRun(
        id=ids.new(),
        reminder_id=None if isinstance(plan, Draft) else plan,
        account_id=account.id,
        account_name=account.name,
        trigger="test",
        title=content.title,
        fire_at=now,
        at_close="stop",
        priority=TEST_PRIORITY,
        **vars(opening_of(Window(0, DAY_MINUTES, content.window.zone), now=now)),
    )
    await run_making.insert_run(tx, run, now=now)
    await run_making.insert_draft_parts(tx, run.id, texts=content.texts, media_ids=content.media_ids)
    if not await run_making.insert_delivery(tx, run.id, target_id):
        raise UserError(
            f"There is no such target on {account.platform}, the platform of {account.name}.",
            remedy="Choose another one to test with.",
        )
    await _announce(tx, run, now=now)
    return run.id


async def make_remainder_run(
    tx: Tx, run_id: UUID, account_id: UUID, *, include_uncertain: bool = False, ids: Ids, now: datetime
) -> UUID:
    """Let another account send what a run has not delivered; only ever by a person's choice.

    Messages that a target has got already are not sent to it again. Of those that are uncertain nobody knows;
    they are sent only if the person says so.
    """
    family = await remainders.lock_family(tx, run_id)
    old = await remainders.get_old_run(tx, run_id)
    if old is None:
        raise no_such_run()
    account = await _account(tx, account_id)
    _check_successor(old, account)
    run = NewRun(
        id=ids.new(),
        reminder_id=old.reminder_id,
        remainder_of=old.id,
        account_id=account.id,
        account_name=account.name,
        trigger="remainder",
        title=old.title,
        fire_at=now,
        at_close=old.at_close,
        **vars(opening_of(old.window, now=now)),
    )
    await run_making.insert_run(tx, run, now=now)
    total = await remainders.fill_with_rest(
        tx,
        old_id=old.id,
        new_id=run.id,
        account_id=account.id,
        family=family,
        include_uncertain=include_uncertain,
    )
    if not total:
        raise UserError(
            "Nothing of this run is left to send.",
            remedy="" if include_uncertain else "Uncertain messages are sent again only if you ask for it.",
        )
    said = skip_text("passed_on", account=account.name)
    woken = await remainders.pass_on(tx, old_id=old.id, new_id=run.id, error=said, now=now)
    if woken and old.account_id is not None:
        await wake_sender(tx, old.account_id)
    await _announce(tx, run, now=now)
    return run.id


def _check_successor(old: OldRun, account: SendingAccount) -> None:
    if old.trigger == "library":
        raise UserError(
            "This run sends a thing of the library, which another account may have to send in another way.",
            remedy="Cancel it, and send the thing again from the other account.",
        )
    if old.account_id == account.id:
        raise UserError(
            f"{account.name} already sends this run.", remedy="Choose another account for the rest."
        )
    if old.platform and old.platform != account.platform:
        raise UserError(
            f"{account.name} is on {account.platform}, and the groups of this run are on {old.platform}.",
            remedy=f"Choose an account on {old.platform}.",
        )


async def record_missed(
    tx: Tx, reminder: Reminder, *, fire_at: datetime, summary: str, now: datetime, ids: Ids
) -> None:
    """Write down that a fire came to nothing, and why."""
    opening = opening_of(reminder.window, now=fire_at)
    run = NewRun(
        id=ids.new(),
        reminder_id=reminder.id,
        account_id=reminder.account_id,
        account_name=reminder.account_name,
        trigger="schedule",
        title=reminder.title,
        fire_at=fire_at,
        at_close=reminder.at_close,
        state="missed",
        summary=summary,
        ended_at=now,
        **vars(replace(opening, due_at=None, reason="")),
    )
    if await run_making.insert_run(tx, run, now=now):
        await publish(tx, CHANGED)
        await publish(tx, fired(run.id, run.title, "missed", Tally()))


async def _account(tx: Tx, account_id: UUID) -> SendingAccount:
    account = await run_making.get_sending_account(tx, account_id)
    if account is None:
        raise UserError("There is no such account.", command="headgate account list")
    return account


async def _announce(tx: Tx, run: NewRun, *, now: datetime) -> None:
    """Wake the account's sender if there is something to do now, and tell the pages."""
    if run.opens_at <= now and run.account_id is not None:
        await wake_sender(tx, run.account_id)
    await publish(tx, CHANGED)
