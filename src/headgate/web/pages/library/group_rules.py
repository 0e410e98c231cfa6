"""The rules that group items: their list, a form for one, and what it would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.groups import rules
from headgate.catalogue.groups.rule_trials import GroupTrial, try_rule
from headgate.domain.errors import UserError
from headgate.domain.library.group_rules import EXAMPLE_PATTERN
from headgate.domain.words.group_words import RULE_KIND_WORDS
from headgate.storage.groups.rules import StoredGroupRule
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Confirmation, ask
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/group-rules"
NEW_RULE: dict[str, Any] = {"name": "", "kind": "title", "pattern": EXAMPLE_PATTERN}
Text = Annotated[str, Form(max_length=5000)]


@dataclass(frozen=True)
class GroupRuleForm:
    """What the form of a rule shows."""

    values: dict[str, Any]
    rule: StoredGroupRule | None = None
    """The rule that is edited; None: a new one."""
    problem: UserError | None = None
    trial: GroupTrial | None = None


@routes.get("/group-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await rules.list_rules(tx)
    return site.renderer.render("group_rules.html", caller=caller, rules=found, kinds=RULE_KIND_WORDS)


@routes.get("/group-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _render_form(site, caller, GroupRuleForm(NEW_RULE))


@routes.get("/group-rules/{rule_id}", door=ADMIN)
async def show_rule(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    return _render_form(site, caller, GroupRuleForm(vars(rule.rule), rule))


@routes.post("/group-rules", door=ADMIN)
async def add_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    name: Text = "",
    kind: Text = "",
    pattern: Text = "",
    do: Text = "",
) -> Response:
    """Save a new rule, or only try it."""
    values = {"name": name, "kind": kind, "pattern": pattern}
    return await _save_or_try(site, caller, GroupRuleForm(values), do)


@routes.post("/group-rules/{rule_id}", door=ADMIN)
async def edit_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    rule_id: UUID,
    name: Text = "",
    kind: Text = "",
    pattern: Text = "",
    do: Text = "",
) -> Response:
    """Save a rule, or only try it."""
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    values = {"name": name, "kind": kind, "pattern": pattern}
    return await _save_or_try(site, caller, GroupRuleForm(values, rule), do)


@routes.post("/group-rules/{rule_id}/on", door=ADMIN)
async def switch_on(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.switch_on(tx, rule_id)
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.get("/group-rules/{rule_id}/off", door=ADMIN)
async def ask_to_switch_off(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    confirmation = Confirmation(
        about=rule.name,
        back=HOME,
        question=f"Turn the rule “{rule.name}” off?",
        action=f"{HOME}/{rule_id}/off",
        button="Turn off",
        part="library",
        texts=("Nothing new is grouped by it. Its groups stay, unless you dissolve them.",),
        ticks=(Checkbox("dissolve", "Dissolve its groups, apart from those that someone has changed"),),
    )
    return ask(site, caller, confirmation)


@routes.post("/group-rules/{rule_id}/off", door=ADMIN)
async def switch_off(site: CurrentSite, rule_id: UUID, dissolve: Annotated[bool, Form()] = False) -> Response:
    async with site.transaction() as tx:
        await rules.switch_off(tx, rule_id, dissolve=dissolve)
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.get("/group-rules/{rule_id}/remove", door=ADMIN)
async def ask_to_remove(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    confirmation = Confirmation(
        about=rule.name,
        back=HOME,
        question=f"Remove the rule “{rule.name}”?",
        action=f"{HOME}/{rule_id}/remove",
        button="Remove rule",
        part="library",
        texts=("Its groups stay. To dissolve them, turn the rule off first.",),
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/group-rules/{rule_id}/remove", door=ADMIN)
async def remove_rule(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.remove_rule(tx, rule_id)
    return RedirectResponse(HOME, status_code=303)


async def _save_or_try(site: Site, caller: Caller, form: GroupRuleForm, do: str) -> Response:
    known = form.rule.id if form.rule else None
    parts = site.parts
    try:
        rule = rules.read_rule(form.values)
        async with site.transaction() as tx:
            if do == "try":
                trial = await try_rule(tx, rule, clock=parts.real_clock)
                return _render_form(site, caller, GroupRuleForm(form.values, form.rule, trial=trial))
            if known is None:
                known = (await rules.add_rule(tx, rule, ids=parts.ids, now=parts.clock.now())).id
            else:
                await rules.edit_rule(tx, known, form.values)
    except UserError as error:
        return _render_form(site, caller, GroupRuleForm(form.values, form.rule, problem=error))
    return RedirectResponse(f"{HOME}#rule-{known}", status_code=303)


def _render_form(site: Site, caller: Caller, form: GroupRuleForm) -> Response:
    page = site.renderer.render("group_rule_form.html", caller=caller, form=form, kinds=RULE_KIND_WORDS)
    page.status_code = 422 if form.problem else 200
    return page
