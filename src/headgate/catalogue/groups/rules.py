"""Rules that group items: what people do with them. A rule is off until someone switches it on.

Switching one on applies it to what is there by a job, and to what arrives. Switching it off leaves its
groups, or dissolves those that nobody has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from headgate.catalogue.groups.locking import lock_things
from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.group_rules import MAX_RULES, GroupRule, GroupRuleKind, check_rule
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.groups import groups, rules
from headgate.storage.groups.rules import StoredGroupRule
from headgate.storage.shelf.touched import touch_groups, touch_items

MAX_BATCH_ITEMS = 1000
"""Members of the groups that one job dissolves, beside those of the last one."""
GROUP_RULES_CHANGED = Event("group_rules")


def read_rule(typed: Mapping[str, Any]) -> GroupRule:
    """Return a rule as it was typed on a page or at a terminal, or say which field is wrong."""
    kind = cast("GroupRuleKind", str(typed.get("kind") or "title"))
    pattern = "" if kind == "replies" else str(typed.get("pattern") or "")
    return check_rule(GroupRule(str(typed.get("name") or ""), kind, pattern))


async def list_rules(tx: Tx) -> list[StoredGroupRule]:
    """Return all rules, the oldest first: earlier ones go first."""
    return await rules.list_rules(tx)


async def get_rule(tx: Tx, rule_id: UUID) -> StoredGroupRule:
    found = await rules.list_rules(tx, rule_id=rule_id)
    if not found:
        raise NotFound("There is no such rule.", remedy="It may have been removed.", field="rule")
    return found[0]


async def add_rule(tx: Tx, rule: GroupRule, *, ids: Ids, now: datetime) -> StoredGroupRule:
    """Add a rule, which is off."""
    await rules.lock_rules(tx)
    await _check_name(tx, rule.name)
    if len(await rules.list_rules(tx)) >= MAX_RULES:
        raise UserError(f"There can be at most {MAX_RULES} rules.", remedy="Remove some.", field="name")
    rule_id = ids.new()
    await rules.insert_rule(tx, rule_id, rule, now=now)
    await publish(tx, GROUP_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def edit_rule(tx: Tx, rule_id: UUID, typed: Mapping[str, Any]) -> StoredGroupRule:
    """Change a rule that is off; groups that it has made stay as they are."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    changed = read_rule({**vars(known.rule), **typed})
    await _check_name(tx, changed.name, besides=rule_id)
    if changed != known.rule:
        if known.enabled or known.doing:
            raise UserError(
                f"The rule {known.name!r} is in use.", remedy="Switch it off to change it.", field="rule"
            )
        await rules.update_rule(tx, rule_id, changed)
        await publish(tx, GROUP_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def switch_on(tx: Tx, rule_id: UUID) -> StoredGroupRule:
    """Switch a rule on; a job applies it to what is there."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    if known.enabled:
        return known
    return await _switch(tx, rule_id, enabled=True, sweep="apply")


async def switch_off(tx: Tx, rule_id: UUID, *, dissolve: bool) -> StoredGroupRule:
    """Switch a rule off; its groups stay, or those that nobody has changed are dissolved by a job."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    if not known.enabled and not dissolve:
        return known
    return await _switch(tx, rule_id, enabled=False, sweep="dissolve" if dissolve else "")


async def remove_rule(tx: Tx, rule_id: UUID) -> StoredGroupRule:
    """Remove a rule; groups that it has made stay."""
    await rules.lock_rules(tx)
    known = await get_rule(tx, rule_id)
    if known.doing == "dissolve":
        raise UserError(
            f"The groups of {known.name!r} are still being dissolved.",
            remedy="Try again in a moment.",
            field="rule",
        )
    await rules.delete_rule(tx, rule_id)
    await publish(tx, GROUP_RULES_CHANGED)
    return known


async def dissolve_untouched(tx: Tx, rule_id: UUID, *, after: UUID | None) -> UUID | None:
    """Dissolve the next groups of a rule that nobody has changed; returns the last, or None at the end."""
    chosen = await rules.list_untouched(tx, rule_id, after=after, max_items=MAX_BATCH_ITEMS)
    if not chosen:
        return None
    locked = await lock_things(tx, chosen, dissolved_ok=True)
    # A person may have changed one of them before it was locked.
    gone = await rules.list_untouched(tx, rule_id, after=None, max_items=MAX_BATCH_ITEMS, ids=chosen)
    leaving = [item.id for item in locked.items.values() if item.group_id in set(gone)]
    await groups.leave_groups(tx, leaving)
    await rules.delete_groups(tx, gone)
    touch_items(tx, leaving)
    touch_groups(tx, gone)
    await publish(tx, Event("items"))
    return chosen[-1]


async def _switch(tx: Tx, rule_id: UUID, *, enabled: bool, sweep: rules.SweepKind) -> StoredGroupRule:
    await rules.switch_rule(tx, rule_id, enabled=enabled, sweep=sweep)
    await publish(tx, GROUP_RULES_CHANGED)
    return await get_rule(tx, rule_id)


async def _check_name(tx: Tx, name: str, *, besides: UUID | None = None) -> None:
    if any(rule.name == name and rule.id != besides for rule in await rules.list_rules(tx)):
        raise UserError(f"There is a rule {name!r} already.", remedy="Choose another name.", field="name")
