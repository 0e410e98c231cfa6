"""What people do to send things of the library on, each in one transaction of its caller.

One thing, several or whole groups go to a target. For each thing and target one request is open at a time:
the unique key decides, so two people who press Send at the same moment share one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.outflow.library_sends.planning import wake_of
from headgate.outflow.sending import controls
from headgate.outflow.sending.endings import SENDS_CHANGED
from headgate.storage.database import Tx
from headgate.storage.errors import Refused
from headgate.storage.events import publish
from headgate.storage.library_sends import overview, requests
from headgate.storage.library_sends.overview import KnownTarget, OwnTarget, ShownRequest, list_requests

MAX_ITEMS = 10_000
"""Things of one wish."""
GIVEN_UP = "given up by a person"
_ONLY_DELIVERY = 1


@dataclass(frozen=True)
class SendWish:
    """What is to be sent, and where; groups stand for all that is in them."""

    target_id: UUID
    item_ids: Sequence[UUID] = ()
    group_ids: Sequence[UUID] = ()
    account_id: UUID | None = None
    """The account that sends; none: one that can write there, best one that reads the channel."""
    user_id: UUID | None = None
    """The user who asks; none for the command line."""


@dataclass(frozen=True)
class AskedSends:
    """The requests that a wish led to."""

    requests: list[ShownRequest]
    """All of them, those that were open before included."""
    created: int
    already_open: int


async def send_things(tx: Tx, wish: SendWish, *, ids: Ids, now: datetime) -> AskedSends:
    """Ask for things to be sent; those that are already on their way to the target are left alone."""
    item_ids = await _items_of(tx, wish)
    await check_target(tx, wish.target_id, wish.account_id)
    created = await requests.insert_requests(
        tx,
        item_ids,
        target_id=wish.target_id,
        account_id=wish.account_id,
        user_id=wish.user_id,
        ids=ids,
        now=now,
    )
    await enqueue(tx, [wake_of(request_id) for request_id in created])
    await publish(tx, SENDS_CHANGED)
    # A second statement sees what another person's transaction has inserted meanwhile.
    is_open = await requests.list_open(tx, item_ids, target_id=wish.target_id)
    shown = await list_requests(tx, ids=[*{*created, *is_open}], limit=len(item_ids))
    return AskedSends(shown, len(created), len(shown) - len(created))


async def send_to_own_chat(
    tx: Tx,
    user_id: UUID,
    *,
    item_ids: Sequence[UUID] = (),
    group_ids: Sequence[UUID] = (),
    ids: Ids,
    now: datetime,
) -> AskedSends:
    """Send things to the chat that the user has chosen for themselves."""
    own = await overview.get_own_target(tx, user_id)
    if own is None:
        raise UserError(
            "You have not chosen your own chat yet.",
            remedy="Choose the chat that things are sent to, or name a target.",
            field="target_id",
        )
    wish = SendWish(own.target_id, item_ids, group_ids, own.account_id, user_id)
    return await send_things(tx, wish, ids=ids, now=now)


async def cancel_request(tx: Tx, request_id: UUID, *, now: datetime) -> ShownRequest:
    """Cancel a request; a message that is already on its way still arrives. An uncertain one is given up."""
    request = await _request(tx, request_id)
    if request.state == "queued" and request.run_id is not None:
        await controls.cancel(tx, request.run_id, now=now)
    elif not await requests.end_request(tx, request_id, "cancelled", reason=GIVEN_UP, now=now):
        shown = await get_shown(tx, request_id)
        raise UserError(
            f"“{shown.item_title}” is {shown.state} and cannot be cancelled.",
            command="headgate library sends list",
        )
    await publish(tx, SENDS_CHANGED)
    return await get_shown(tx, request_id)


async def retry_request(tx: Tx, request_id: UUID, *, now: datetime) -> ShownRequest:
    """Send again what failed or was cancelled; messages that have arrived are not repeated."""
    shown = await get_shown(tx, request_id)
    if shown.is_uncertain:
        raise UserError(
            f"It is not known whether “{shown.item_title}” arrived in {shown.target_title}.",
            remedy="Look there, and say whether it arrived.",
            command="headgate library sends resolve",
        )
    try:
        if not await requests.start_over(tx, request_id, now=now):
            raise UserError(
                f"“{shown.item_title}” is {shown.state}: there is nothing to retry.",
                command="headgate library sends list",
            )
    except Refused as error:
        raise UserError(
            f"A newer request already sends “{shown.item_title}” to {shown.target_title}.",
            remedy="Wait for that one, or cancel it.",
        ) from error
    await enqueue(tx, [wake_of(request_id)])
    await publish(tx, SENDS_CHANGED)
    return await get_shown(tx, request_id)


async def resolve_request(tx: Tx, request_id: UUID, *, arrived: bool, now: datetime) -> ShownRequest:
    """Take a person's word for an uncertain message: it arrived, or it is to be sent again."""
    shown = await get_shown(tx, request_id)
    if shown.run_id is None or not shown.is_uncertain:
        raise UserError(
            f"“{shown.item_title}” is {shown.state}, not uncertain.",
            command="headgate library sends list",
        )
    await controls.resolve(tx, shown.run_id, _ONLY_DELIVERY, arrived=arrived, now=now)
    await publish(tx, SENDS_CHANGED)
    return await get_shown(tx, request_id)


async def choose_own_chat(
    tx: Tx, user_id: UUID, *, target_id: UUID, account_id: UUID | None = None
) -> OwnTarget:
    """Choose where a user sends things to themselves."""
    await check_target(tx, target_id, account_id)
    await overview.set_own_target(tx, user_id, target_id=target_id, account_id=account_id)
    own = await overview.get_own_target(tx, user_id)
    if own is None:
        raise NotFound("There is no such user.")
    return own


async def forget_own_chat(tx: Tx, user_id: UUID) -> bool:
    """Forget where a user sends things to themselves; false if nothing was chosen."""
    return await overview.clear_own_target(tx, user_id)


async def _items_of(tx: Tx, wish: SendWish) -> list[UUID]:
    members = await overview.list_members(tx, wish.group_ids) if wish.group_ids else {}
    if missing := [group_id for group_id in wish.group_ids if group_id not in members]:
        raise NotFound(f"There is no group {missing[0]} with items in it.", field="groups")
    grouped = [item_id for group_id in wish.group_ids for item_id in members[group_id]]
    item_ids = list(dict.fromkeys([*wish.item_ids, *grouped]))
    if not item_ids:
        raise UserError("Nothing was chosen to be sent.", remedy="Choose an item or a group.", field="items")
    if len(item_ids) > MAX_ITEMS:
        raise UserError(f"At most {MAX_ITEMS:,} items can be sent at once.", remedy="Choose fewer.")
    known = set(await overview.list_known_items(tx, item_ids))
    if unknown := [item_id for item_id in item_ids if item_id not in known]:
        raise NotFound(f"There is no item {unknown[0]}.", command="headgate library list", field="items")
    return item_ids


async def check_target(tx: Tx, target_id: UUID, account_id: UUID | None) -> KnownTarget:
    """Return a target that the account, or any, can write to, or say why there is none."""
    target = await overview.get_target(tx, target_id, account_id=account_id)
    if target is None:
        raise NotFound("There is no such target.", command="headgate target list", field="target_id")
    if not target.accounts or (account_id is not None and not target.reached):
        who = "No account can" if not target.accounts else "This account cannot"
        raise UserError(
            f"{who} write to {target.title}.",
            remedy="Choose another target, or refresh the targets of the account.",
            command="headgate target refresh ACCOUNT",
            field="target_id" if not target.accounts else "account_id",
        )
    return target


async def get_shown(tx: Tx, request_id: UUID) -> ShownRequest:
    """Return a request as people see it."""
    found = await list_requests(tx, ids=[request_id], limit=1)
    if not found:
        raise no_such_request()
    return found[0]


async def _request(tx: Tx, request_id: UUID) -> requests.SendRequest:
    request = await requests.get_request(tx, request_id)
    if request is None:
        raise no_such_request()
    return request


def no_such_request() -> NotFound:
    return NotFound("There is no such request.", command="headgate library sends list")
