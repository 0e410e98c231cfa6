"""Rules that send things on by themselves: what people do with them, and which things they send.

A rule has the filters of the library, a target and perhaps an account. It is off until someone switches it
on, and then sends what arrives, each thing once; what was there before only if that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.shelf_filters import NO_FILTERS, ShelfView, parse_view
from headgate.domain.text import storable, typed_text
from headgate.jobs.wake import enqueue
from headgate.kernel.ids import Ids
from headgate.outflow.library_sends.actions import check_target
from headgate.outflow.library_sends.planning import wake_of
from headgate.outflow.sending.endings import SENDS_CHANGED
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.library_sends import requests, rules
from headgate.storage.library_sends.rules import NewestItem, NewSendRule, StoredSendRule
from headgate.storage.shelf.rows import ShelfSearch, list_matching_items

SEND_RULES_CHANGED = Event("send_rules")
MAX_RULES = 50
MAX_NAME_LENGTH = 100
MAX_TRIED = 2000
"""Items that a page or program waits for; a command may ask for more."""
MAX_EXAMPLES = 20
_BATCH = 500


@dataclass(frozen=True)
class SendTrial:
    """What a rule would send of the newest items, if it were switched on with backfill."""

    tried: int
    has_older: bool
    """There are older items, which were not tried."""
    matched: int
    """Items that match its filters."""
    would_send: int
    """Without those that are in the target or on the way there, and of copies one."""
    examples: tuple[str, ...]
    """Titles, the newest first."""


async def read_rule(tx: Tx, rule: NewSendRule) -> NewSendRule:
    """Return a rule as it is stored, or say which field is wrong."""
    name = typed_text(storable(rule.name), max_length=MAX_NAME_LENGTH + 1)
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise UserError(f"A rule needs a name of 1 to {MAX_NAME_LENGTH} characters.", field="name")
    query = _read_filters(rule.query).query
    await check_target(tx, rule.target_id, rule.account_id)
    return NewSendRule(name, query, rule.target_id, rule.account_id, rule.user_id)


async def list_rules(tx: Tx) -> list[StoredSendRule]:
    """Return all rules, the oldest first."""
    return await rules.list_rules(tx)


async def get_rule(tx: Tx, rule_id: UUID) -> StoredSendRule:
    found = await rules.list_rules(tx, rule_id=rule_id)
    if not found:
        raise NotFound("There is no such rule.", remedy="It may have been removed.", field="rule")
    return found[0]


async def add_rule(tx: Tx, rule: NewSendRule, *, ids: Ids, now: datetime) -> StoredSendRule:
    """Add a rule, which is off."""
    rule = await read_rule(tx, rule)
    await rules.lock_rules(tx)
    await _check_name(tx, rule.name)
    if len(await rules.list_rules(tx)) >= MAX_RULES:
        raise UserError(f"There can be at most {MAX_RULES} rules.", remedy="Remove some.", field="name")
    rule_id = ids.new()
    await rules.insert_rule(tx, rule_id, rule, now=now)
    await publish(tx, SEND_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def edit_rule(tx: Tx, rule_id: UUID, typed: Mapping[str, Any]) -> StoredSendRule:
    """Change a rule that is off; what it has asked for is still sent, where it was to go then."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    changed = await read_rule(tx, replace(known.rule, **typed))
    await _check_name(tx, changed.name, besides=rule_id)
    if changed != known.rule:
        if known.enabled:
            raise UserError(
                f"The rule {known.name!r} is in use.", remedy="Switch it off to change it.", field="rule"
            )
        await rules.update_rule(tx, rule_id, changed)
        await publish(tx, SEND_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def switch_on(tx: Tx, rule_id: UUID, *, backfill: bool, now: datetime) -> StoredSendRule:
    """Send what arrives from now on; with backfill also what is there."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    if known.enabled and not backfill:
        return known
    await check_target(tx, known.target_id, known.account_id)
    await rules.switch_on(tx, rule_id, backfill=backfill, now=now)
    await publish(tx, SEND_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def switch_off(tx: Tx, rule_id: UUID) -> StoredSendRule:
    """Send nothing more; what was asked for is still sent."""
    await rules.lock_rules(tx)
    await get_rule(tx, rule_id)
    await rules.switch_off(tx, rule_id)
    await publish(tx, SEND_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def remove_rule(tx: Tx, rule_id: UUID) -> StoredSendRule:
    """Remove a rule; what it sent stays where it is."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    await rules.delete_rule(tx, rule_id)
    await publish(tx, SEND_RULES_CHANGED)
    return known


async def try_rule(
    tx: Tx, rule: NewSendRule, *, rule_id: UUID | None = None, limit: int = MAX_TRIED
) -> SendTrial:
    """Say what a rule would send of what is there; nothing is sent."""
    rule = await read_rule(tx, rule)
    search = ShelfSearch.of(_read_filters(rule.query).filters)
    matched: list[NewestItem] = []
    tried = 0
    below: NewestItem | None = None
    more = True
    while more and tried < limit:
        size = min(_BATCH, limit - tried)
        page = await rules.list_newest(tx, below=below, limit=size + 1)
        more, page = len(page) > size, page[:size]
        if not page:
            break
        found = await list_matching_items(tx, search, [item.id for item in page])
        matched += [item for item in page if item.id in found]
        tried, below = tried + len(page), page[-1]
    ids = [item.id for item in matched]
    sendable = set(await rules.list_unsent(tx, ids, target_id=rule.target_id, rule_id=rule_id, since=None))
    titles = [item.title for item in matched if item.id in sendable][:MAX_EXAMPLES]
    return SendTrial(tried, more, len(matched), len(sendable), tuple(titles))


async def apply_rule(
    tx: Tx, rule: StoredSendRule, item_ids: Sequence[UUID], *, ids: Ids, now: datetime
) -> int:
    """Ask for what a rule sends of some items, each once; returns how many."""
    matching = await list_matching_items(tx, ShelfSearch.of(parse_view(rule.query).filters), item_ids)
    since = None if rule.backfill else rule.enabled_at
    unsent = await rules.list_unsent(
        tx, sorted(matching), target_id=rule.target_id, rule_id=rule.id, since=since
    )
    if not unsent:
        return 0
    created = await requests.insert_requests(
        tx,
        unsent,
        target_id=rule.target_id,
        account_id=rule.account_id,
        user_id=None,
        rule_id=rule.id,
        ids=ids,
        now=now,
    )
    await enqueue(tx, [wake_of(request_id) for request_id in created])
    await publish(tx, SENDS_CHANGED)
    await publish(tx, SEND_RULES_CHANGED)
    return len(created)


async def _check_name(tx: Tx, name: str, *, besides: UUID | None = None) -> None:
    if any(rule.name == name and rule.id != besides for rule in await rules.list_rules(tx)):
        raise UserError(f"There is a rule {name!r} already.", remedy="Choose another name.", field="name")


def _read_filters(query: str) -> ShelfView:
    view = parse_view(query)
    if view.search:
        raise UserError(
            "A rule has filters, and no words to search for.", remedy="Remove the search.", field="query"
        )
    if view.filters == NO_FILTERS:
        raise UserError(
            "Without filters the rule would send everything.",
            remedy="Choose a channel, a tag, a type or another filter.",
            field="query",
        )
    return ShelfView(view.filters)
