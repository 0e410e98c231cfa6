"""The rules that read creators and tags: their list, a form for one, and what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Response

from headgate.catalogue import label_rules
from headgate.catalogue.label_trials import Trial, try_rule
from headgate.domain.library.label_rules import LabelRule
from headgate.domain.words.label_words import FIELD_WORDS, KIND_WORDS, NORMALISATION_WORDS
from headgate.storage.database import Tx
from headgate.storage.labels.rules import StoredRule
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.rules import RuleForm, Text, add_removal, back_to, save_or_try
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/label-rules"
CHOICES: Mapping[str, Mapping[str, str]] = {
    "field": FIELD_WORDS,
    "kind": KIND_WORDS,
    "normalisation": NORMALISATION_WORDS,
}
NEW_RULE: dict[str, Any] = vars(LabelRule("", "caption", "", "creator", "spaced"))

LabelRuleForm = RuleForm[StoredRule, Trial]

add_removal(
    routes,
    HOME,
    get=label_rules.get_rule,
    remove=label_rules.remove_rule,
    text="Labels that only this rule found disappear. What people set stays.",
)


@routes.get("/label-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await label_rules.list_rules(tx)
    return site.renderer.render(
        "label_rules.html", caller=caller, home=HOME, rules=found.rules, fields=FIELD_WORDS, kinds=KIND_WORDS
    )


@routes.get("/label-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _render_form(site, caller, LabelRuleForm(NEW_RULE))


@routes.get("/label-rules/{rule_id}", door=ADMIN)
async def show_rule(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await label_rules.get_rule(tx, rule_id)
    return _render_form(site, caller, LabelRuleForm(vars(rule.rule), rule))


@routes.post("/label-rules", door=ADMIN)
@routes.post("/label-rules/{rule_id}", door=ADMIN)
async def save_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    rule_id: UUID | None = None,
    name: Text = "",
    source: Text = "",
    kind: Text = "",
    pattern: Text = "",
    normalisation: Text = "",
    enabled: Annotated[bool, Form()] = False,
    do: Text = "",
) -> Response:
    """Save a new or a known rule, or only try it."""
    labelled = {"field": source, "kind": kind, "normalisation": normalisation}
    values: dict[str, Any] = {"name": name, "pattern": pattern, "enabled": enabled, **labelled}
    form = LabelRuleForm(values)
    if rule_id is not None:
        async with site.transaction() as tx:
            form = LabelRuleForm(values, await label_rules.get_rule(tx, rule_id))

    async def try_it(tx: Tx) -> Trial:
        tried = label_rules.read_rule(values)
        return await try_rule(tx, tried, replacing=rule_id, clock=site.parts.real_clock)

    async def save(tx: Tx) -> StoredRule:
        if rule_id is not None:
            return await label_rules.edit_rule(tx, rule_id, values)
        return await label_rules.add_rule(tx, label_rules.read_rule(values), ids=site.parts.ids)

    async def show(shown: LabelRuleForm) -> Response:
        return _render_form(site, caller, shown)

    return await save_or_try(site, form, do, home=HOME, try_it=try_it, save=save, show=show)


@routes.post("/label-rules/{rule_id}/move", door=ADMIN)
async def move_rule(site: CurrentSite, rule_id: UUID, position: Annotated[int, Form()]) -> Response:
    async with site.transaction() as tx:
        await label_rules.edit_rule(tx, rule_id, {}, position=position)
    return back_to(HOME, rule_id)


@routes.post("/label-rules/{rule_id}/switch", door=ADMIN)
async def switch_rule(site: CurrentSite, rule_id: UUID, enabled: Annotated[bool, Form()] = False) -> Response:
    async with site.transaction() as tx:
        await label_rules.edit_rule(tx, rule_id, {"enabled": enabled})
    return back_to(HOME, rule_id)


def _render_form(site: Site, caller: Caller, form: LabelRuleForm) -> Response:
    page = site.renderer.render("label_rule_form.html", caller=caller, home=HOME, form=form, choices=CHOICES)
    page.status_code = 422 if form.problem else 200
    return page
