"""The rules that read creators and tags: listing and changing them, and trying a change before it is made.

Every change of a rule has all items labelled again, by a job; what people said stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args
from uuid import UUID

from headgate.domain.errors import NotFound, UserError
from headgate.domain.library.label_rules import (
    MAX_RULE_NAME,
    LabelField,
    LabelKind,
    LabelRule,
    Normalisation,
    check_rules,
)
from headgate.domain.text import storable, typed_text
from headgate.kernel.ids import Ids
from headgate.storage.database import Tx
from headgate.storage.events import Event, publish
from headgate.storage.labels import rules
from headgate.storage.labels.rules import StoredRule

FIELDS: tuple[LabelField, ...] = get_args(LabelField)
KINDS: tuple[LabelKind, ...] = get_args(LabelKind)
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)

Change = Callable[[list[StoredRule]], list[StoredRule]]


@dataclass(frozen=True)
class RuleSet:
    """All rules in their order, and the version that items are labelled under."""

    version: int
    rules: tuple[StoredRule, ...]

    def get(self, rule_id: UUID) -> StoredRule:
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise NotFound("There is no such rule.", remedy="It may have been removed.", field="rule")


def read_rule(typed: Mapping[str, Any]) -> LabelRule:
    """Return a rule as it was typed on a page or at a terminal, or say which field is wrong."""
    return LabelRule(
        name=typed_text(str(typed.get("name", "")), max_length=MAX_RULE_NAME + 1),
        field=_one_of(FIELDS, typed.get("field"), field="field"),
        pattern=storable(str(typed.get("pattern", ""))).strip(),
        kind=_one_of(KINDS, typed.get("kind"), field="kind"),
        normalisation=_one_of(
            NORMALISATIONS, typed.get("normalisation", "as_written"), field="normalisation"
        ),
        enabled=bool(typed.get("enabled", True)),
    )


def edited_rule(rule: LabelRule, typed: Mapping[str, Any]) -> LabelRule:
    """Return a rule with what was typed instead of what it has."""
    return read_rule({**vars(rule), **typed})


async def list_rules(tx: Tx) -> RuleSet:
    return RuleSet(await rules.get_version(tx), tuple(await rules.list_rules(tx)))


async def get_rule(tx: Tx, rule_id: UUID) -> StoredRule:
    return (await list_rules(tx)).get(rule_id)


async def add_rule(tx: Tx, rule: LabelRule, *, position: int | None = None, ids: Ids) -> StoredRule:
    """Add a rule after the others, or at a place among them."""
    new = _stored(ids.new(), rule)
    return (await _change(tx, with_rule(new, position))).get(new.id)


async def edit_rule(
    tx: Tx, rule_id: UUID, typed: Mapping[str, Any], *, position: int | None = None
) -> StoredRule:
    """Change some fields of a rule, its place, or whether it is on."""

    def edit(listed: list[StoredRule]) -> list[StoredRule]:
        known = RuleSet(0, tuple(listed)).get(rule_id)
        changed = _stored(rule_id, edited_rule(known.rule, typed))
        if position is None:
            return [changed if one.id == rule_id else one for one in listed]
        return with_rule(changed, position)([one for one in listed if one.id != rule_id])

    return (await _change(tx, edit)).get(rule_id)


async def remove_rule(tx: Tx, rule_id: UUID) -> StoredRule:
    """Remove a rule; what it read goes when the items are labelled again."""
    removed = (await list_rules(tx)).get(rule_id)

    def remove(listed: list[StoredRule]) -> list[StoredRule]:
        RuleSet(0, tuple(listed)).get(rule_id)
        return [one for one in listed if one.id != rule_id]

    await _change(tx, remove)
    return removed


def with_rule(rule: StoredRule, position: int | None) -> Change:
    """Return the change that puts a rule at a place, counted from 1, or at the end."""

    def insert(listed: list[StoredRule]) -> list[StoredRule]:
        if position is None:
            return [*listed, rule]
        if not 1 <= position <= len(listed) + 1:
            raise UserError(f"Choose a place from 1 to {len(listed) + 1}.", field="position")
        return [*listed[: position - 1], rule, *listed[position - 1 :]]

    return insert


async def _change(tx: Tx, change: Change) -> RuleSet:
    """Apply a change to all rules at once, so that what is stored can always be used."""
    version = await rules.lock_ruleset(tx)
    before = await rules.list_rules(tx)
    after = [replace(rule, position=place) for place, rule in enumerate(change(before), 1)]
    check_rules(tuple(rule.rule for rule in after))
    if after != before:
        version = await rules.replace_rules(tx, after)
        await publish(tx, Event("label_rules"))
    return RuleSet(version, tuple(after))


def _stored(rule_id: UUID, rule: LabelRule) -> StoredRule:
    return StoredRule(
        rule_id, 0, rule.name, rule.field, rule.kind, rule.normalisation, rule.pattern, rule.enabled
    )


def _one_of(choices: Sequence[Any], typed: object, *, field: str) -> Any:
    if typed not in choices:
        raise UserError(
            f"{str(typed or '')[:50]!r} is not one of the choices.",
            remedy=f"Use {', '.join(choices[:-1])} or {choices[-1]}.",
            field=field,
        )
    return cast("str", typed)
