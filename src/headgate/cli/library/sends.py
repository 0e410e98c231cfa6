"""`headgate library send|sends|chat`: send items on, follow that, and choose a user's own chat."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.library.send_rules import app as rules_app
from headgate.cli.lookup.channels import get_account
from headgate.cli.lookup.items import find_item
from headgate.cli.lookup.targets import get_targets, platform_of
from headgate.cli.lookup.users import UserOption, get_user
from headgate.cli.output import AsJson, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.states import state_text
from headgate.domain.words.times import relative
from headgate.outflow.library_sends import actions
from headgate.outflow.library_sends.actions import AskedSends, SendWish
from headgate.storage.database import Tx
from headgate.storage.library_sends.overview import (
    ShownRequest,
    ShownState,
    find_requests,
    get_own_target,
    list_requests,
)

sends = typer.Typer(no_args_is_help=True, help="List, cancel and retry what is sent from the library.")
sends.add_typer(rules_app, name="rules")

Items = Annotated[
    list[str] | None, typer.Argument(metavar="ITEM…", help="Ids of items, or words of their titles.")
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="GROUP", help="Id of a group; all items of it are sent."),
]
AccountOption = Annotated[
    str, typer.Option("--account", metavar="ACCOUNT", help="Account that sends; else one that can.")
]
RequestArgument = Annotated[
    str, typer.Argument(metavar="REQUEST", help="Id of a request, its beginning or its last digits.")
]
Change = Callable[[Tx, CommandContext, UUID], Awaitable[ShownRequest]]
_DIGITS = re.compile(r"[0-9a-f-]{4,36}")


def send(
    items: Items = None,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="Title, key or id of a target; else your own chat.")
    ] = "",
    account: AccountOption = "",
    group: Groups = None,
    user: UserOption = "",
    as_json: AsJson = False,
) -> None:
    """Send items, or all items of groups, to a target or to your own chat."""

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            asked = await _ask(tx, context, items or (), group or (), to=to, account=account, user=user)
        if as_json:
            print_json(asked)
            return
        titles = {request.target_title for request in asked.requests}
        where = f" to {titles.pop()}" if len(titles) == 1 else ""
        typer.echo(f"{count_of(asked.created, 'item is', 'items are')} sent{where}.")
        if asked.already_open:
            typer.echo(f"{count_of(asked.already_open, 'item was', 'items were')} already on the way.")

    with_database(ask)


async def _ask(
    tx: Tx,
    context: CommandContext,
    items: Sequence[str],
    groups: Sequence[str],
    *,
    to: str,
    account: str,
    user: str,
) -> AskedSends:
    item_ids = [await find_item(tx, item) for item in items]
    group_ids = [_group_id(group) for group in groups]
    now, ids = context.clock.now(), context.ids
    if not to:
        owner = await get_user(tx, user)
        return await actions.send_to_own_chat(
            tx, owner.id, item_ids=item_ids, group_ids=group_ids, ids=ids, now=now
        )
    (target_id,) = await get_targets(tx, [to], platform=await platform_of(tx, account))
    account_id = (await get_account(tx, account)).id if account else None
    return await actions.send_things(
        tx, SendWish(target_id, item_ids, group_ids, account_id), ids=ids, now=now
    )


def _group_id(reference: str) -> UUID:
    try:
        return UUID(reference)
    except ValueError:
        raise UserError(f"{reference!r} is not the id of a group.", field="group") from None


@sends.command("list")
def list_sends(
    *,
    item: Annotated[str, typer.Option("--item", metavar="ITEM", help="Only requests of this item.")] = "",
    state: Annotated[
        ShownState | None,
        typer.Option(metavar="STATE", help="One of pending, sending, sent, failed, uncertain and cancelled."),
    ] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only requests that have not ended.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List requests to send items, the newest first."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            item_id = await find_item(tx, item) if item else None
            states: list[ShownState] | None = [state] if state else None
            found = await list_requests(tx, item_id=item_id, states=states, is_open=only_open, limit=limit)
        if as_json:
            print_json({"requests": found})
            return
        now = context.clock.now()
        print_table(
            ("Request", "Item", "To", "From", "State", "Messages", "Asked"),
            [
                (
                    str(one.id)[-8:],
                    one.item_title,
                    one.target_title,
                    one.account_name,
                    _state(one),
                    f"{one.messages_sent}/{one.messages}" if one.messages else "",
                    relative(one.created_at, now),
                )
                for one in found
            ],
            empty="Nothing was sent yet.",
        )

    with_database(look)


@sends.command()
def show(reference: RequestArgument, *, as_json: AsJson = False) -> None:
    """Show one request."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            shown = await actions.get_shown(tx, await _find(tx, reference))
        _print(shown, as_json=as_json)

    with_database(look)


@sends.command()
def cancel(reference: RequestArgument, *, as_json: AsJson = False) -> None:
    """Cancel a request; a message that is already on its way still arrives."""
    _change(
        reference,
        lambda tx, context, found: actions.cancel_request(tx, found, now=context.clock.now()),
        as_json=as_json,
    )


@sends.command()
def retry(reference: RequestArgument, *, as_json: AsJson = False) -> None:
    """Retry a request that failed or was cancelled; what arrived is not sent again."""
    _change(
        reference,
        lambda tx, context, found: actions.retry_request(tx, found, now=context.clock.now()),
        as_json=as_json,
    )


@sends.command()
def resolve(
    reference: RequestArgument,
    *,
    arrived: Annotated[
        bool, typer.Option("--arrived/--again", help="The message is there; or it is not, so send it again.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say whether an uncertain message arrived."""
    _change(
        reference,
        lambda tx, context, found: actions.resolve_request(
            tx, found, arrived=arrived, now=context.clock.now()
        ),
        as_json=as_json,
    )


def chat(
    target: Annotated[
        str, typer.Argument(metavar="[TARGET]", help="Title, key or id of a target; nothing to show it.")
    ] = "",
    *,
    account: AccountOption = "",
    user: UserOption = "",
    clear: Annotated[bool, typer.Option("--clear", help="Choose no chat.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or choose the chat that a user's own sends go to."""

    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            owner = await get_user(tx, user)
            if clear:
                await actions.forget_own_chat(tx, owner.id)
            elif target:
                (target_id,) = await get_targets(tx, [target], platform=await platform_of(tx, account))
                account_id = (await get_account(tx, account)).id if account else None
                await actions.choose_own_chat(tx, owner.id, target_id=target_id, account_id=account_id)
            own = await get_own_target(tx, owner.id)
        if as_json:
            print_json({"user": owner.name, "chat": own})
        elif own is None:
            typer.echo(f"{owner.name} has chosen no chat.")
        else:
            by = f", by {own.account_name}" if own.account_name else ""
            typer.echo(f"What {owner.name} sends to themselves goes to {own.target_title}{by}.")

    with_database(work)


def _change(reference: str, change: Change, *, as_json: bool) -> None:
    async def work(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            shown = await change(tx, context, await _find(tx, reference))
        _print(shown, as_json=as_json)

    with_database(work)


async def _find(tx: Tx, reference: str) -> UUID:
    digits = reference.lower()
    found = await find_requests(tx, digits) if _DIGITS.fullmatch(digits) else []
    if len(found) > 1:
        listed = ", ".join(map(str, found))
        raise UserError(f"{reference!r} could be several requests.", remedy=f"Use the whole id: {listed}.")
    if not found:
        raise actions.no_such_request()
    return found[0]


def _print(shown: ShownRequest, *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
        return
    count = f", {shown.messages_sent} of {count_of(shown.messages, 'message')}" if shown.messages else ""
    typer.echo(
        f"{shown.item_title} to {shown.target_title} from {shown.account_name}: {_state(shown)}{count}."
    )


def _state(shown: ShownRequest) -> str:
    return state_text(shown.state) + (f": {shown.reason}" if shown.reason else "")
