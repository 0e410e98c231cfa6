"""Reminders for the demo: something to look at from the first minute, one of them under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from headgate.app.parts import Parts
    from headgate.outflow.reminders.drafts import Draft

MAX = 500


async def plan_reminders(parts: Parts) -> None:
    """Write the demo's reminders at its first start, and let one begin."""
    from headgate.lanes.links import AccountRef
    from headgate.outflow.reminders import reminders
    from headgate.outflow.reminders.runs import make_run
    from headgate.outflow.reminders.targets import create_list, refresh
    from headgate.storage.channels.channels import list_accounts
    from headgate.storage.reminders.reminder_overview import list_titles
    from headgate.storage.reminders.targets import search_targets

    now = parts.clock.now()
    async with parts.database.transaction() as tx:
        if await list_titles(tx):
            return
        accounts = await list_accounts(tx)
    for account in accounts:
        reference = AccountRef(
            account.id, account.platform, account.name, account.established, account.sign_in
        )
        await refresh(parts.database, parts.links, reference, ids=parts.ids, now=now)
    async with parts.database.transaction() as tx:
        targets = [target.id for target in await search_targets(tx, limit=MAX)]
        everyone = await create_list(tx, "Everyone", targets, ids=parts.ids, now=now)
        sender, second = (account.id for account in accounts[:2])
        saved = [
            await reminders.create(tx, draft, ids=parts.ids, now=now)
            for draft in _drafts(sender, second, everyone)
        ]
        await make_run(tx, saved[0].id, trigger="person", fire_at=now, now=now, ids=parts.ids)


async def follow_series(parts: Parts) -> None:
    """Follow every series of the demo's world for whoever looks at it; what is followed already stays so."""
    from headgate.intake.listings.sources import ListingSources, NewSource
    from headgate.outflow.notifications.follows import follow
    from headgate.storage.access.users import list_users
    from headgate.storage.notifications.follows import Subject

    sources = ListingSources(parts.links, parts.database, parts.clock, parts.ids)
    account = await sources.reader_of("simulated")
    async with parts.links.call(account, "read") as link:
        found = [channel for channel in await link.discover() if channel.kind == "listing"]
    now = parts.clock.now()
    async with parts.database.transaction() as tx:
        users = await list_users(tx)
        for channel in found:
            added = await sources.add_in(tx, account, NewSource(channel), now=now)
            for user in users if added.is_new else ():
                subject = Subject(series_id=added.series_id)
                await follow(tx, subject, None, user_id=user.id, ids=parts.ids, now=now)


def _drafts(sender: UUID, second: UUID, everyone: UUID) -> list[Draft]:
    from headgate.domain.reminders.recurrence import daily, weekdays, weekly
    from headgate.domain.reminders.windows import Window
    from headgate.outflow.reminders.drafts import Draft, DraftPart

    hello = DraftPart("Good morning, {group}! It is {weekday}, and the workshop is open until eight.")
    return [
        Draft(
            title="Opening hours",
            account_id=sender,
            parts=(hello, DraftPart("Bring what you are working on.")),
            schedule=daily("09:00"),
            window=Window(0, 1440),
            lists=(everyone,),
        ),
        Draft(
            title="New prints of the week",
            account_id=second,
            parts=(DraftPart("{group}: this week's new prints are in the library."),),
            schedule=weekly(["fri"], "17:00"),
            window=Window(),
            lists=(everyone,),
            at_close="carry",
        ),
        Draft(
            title="Tidy the print farm",
            account_id=sender,
            parts=(DraftPart("Please clear the build plates, {group}."),),
            schedule=weekdays("16:30"),
            window=Window(),
            lists=(everyone,),
        ),
    ]
