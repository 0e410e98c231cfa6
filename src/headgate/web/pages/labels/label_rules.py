"""The rules that read creators and tags: their list, a form for one, and what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue import label_rules
from headgate.catalogue.label_trials import Trial, try_rule
from headgate.domain.errors import UserError
from headgate.domain.library.label_rules import LabelRule
from headgate.domain.words.label_words import FIELD_WORDS, KIND_WORDS, NORMALISATION_WORDS
from headgate.storage.labels.rules import StoredRule
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/label-rules"
CHOICES: Mapping[str, Mapping[str, str]] = {
    "field": FIELD_WORDS,
    "kind": KIND_WORDS,
    "normalisation": NORMALISATION_WORDS,
}
NEW_RULE: dict[str, Any] = vars(LabelRule("", "caption", "", "creator", "spaced"))

Text = Annotated[str, Form(max_length=5000)]


@dataclass(frozen=True)
class RuleForm:
    """What the form of a rule shows."""

    values: dict[str, Any]
    rule: StoredRule | None = None
    """The rule that is edited; None: a new one."""
    problem: UserError | None = None
    trial: Trial | None = None


@routes.get("/label-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await label_rules.list_rules(tx)
    return site.renderer.render(
        "label_rules.html", caller=caller, rules=found.rules, fields=FIELD_WORDS, kinds=KIND_WORDS
    )


@routes.get("/label-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _render_form(site, caller, RuleForm(NEW_RULE))


@routes.get("/label-rules/{rule_id}", door=ADMIN)
async def show_rule(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await label_rules.get_rule(tx, rule_id)
    return _render_form(site, caller, RuleForm(vars(rule.rule), rule))


@routes.post("/label-rules", door=ADMIN)
async def add_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    name: Text = "",
    source: Text = "",
    kind: Text = "",
    pattern: Text = "",
    normalisation: Text = "",
    enabled: Annotated[bool, Form()] = False,
    do: Text = "",
) -> Response:
    """Save a new rule, or only try it."""
    values = _values(name, source, kind, pattern, normalisation, enabled=enabled)
    return await _save_or_try(site, caller, RuleForm(values), do)


@routes.post("/label-rules/{rule_id}", door=ADMIN)
async def edit_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    rule_id: UUID,
    name: Text = "",
    source: Text = "",
    kind: Text = "",
    pattern: Text = "",
    normalisation: Text = "",
    enabled: Annotated[bool, Form()] = False,
    do: Text = "",
) -> Response:
    """Save a rule, or only try it."""
    values = _values(name, source, kind, pattern, normalisation, enabled=enabled)
    async with site.transaction() as tx:
        rule = await label_rules.get_rule(tx, rule_id)
    return await _save_or_try(site, caller, RuleForm(values, rule), do)


@routes.post("/label-rules/{rule_id}/move", door=ADMIN)
async def move_rule(site: CurrentSite, rule_id: UUID, position: Annotated[int, Form()]) -> Response:
    async with site.transaction() as tx:
        await label_rules.edit_rule(tx, rule_id, {}, position=position)
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.post("/label-rules/{rule_id}/switch", door=ADMIN)
async def switch_rule(site: CurrentSite, rule_id: UUID, enabled: Annotated[bool, Form()] = False) -> Response:
    async with site.transaction() as tx:
        await label_rules.edit_rule(tx, rule_id, {"enabled": enabled})
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.get("/label-rules/{rule_id}/remove", door=ADMIN)
async def ask_to_remove(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await label_rules.get_rule(tx, rule_id)
    confirmation = Confirmation(
        about=rule.name,
        back=HOME,
        question=f"Remove the rule “{rule.name}”?",
        action=f"{HOME}/{rule_id}/remove",
        button="Remove rule",
        part="library",
        texts=("Labels that only this rule found disappear. What people set stays.",),
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/label-rules/{rule_id}/remove", door=ADMIN)
async def remove_rule(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await label_rules.remove_rule(tx, rule_id)
    return RedirectResponse(HOME, status_code=303)


def _values(
    name: str, source: str, kind: str, pattern: str, normalisation: str, *, enabled: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "field": source,
        "kind": kind,
        "pattern": pattern,
        "normalisation": normalisation,
        "enabled": enabled,
    }


async def _save_or_try(site: Site, caller: Caller, form: RuleForm, do: str) -> Response:
    known = form.rule.id if form.rule else None
    try:
        rule = label_rules.read_rule(form.values)
        async with site.transaction() as tx:
            if do == "try":
                trial = await try_rule(tx, rule, replacing=known, clock=site.parts.real_clock)
                return _render_form(site, caller, RuleForm(form.values, form.rule, trial=trial))
            if known is None:
                known = (await label_rules.add_rule(tx, rule, ids=site.parts.ids)).id
            else:
                await label_rules.edit_rule(tx, known, form.values)
    except UserError as error:
        return _render_form(site, caller, RuleForm(form.values, form.rule, problem=error))
    return RedirectResponse(f"{HOME}#rule-{known}", status_code=303)


def _render_form(site: Site, caller: Caller, form: RuleForm) -> Response:
    page = site.renderer.render("label_rule_form.html", caller=caller, form=form, choices=CHOICES)
    page.status_code = 422 if form.problem else 200
    return page
