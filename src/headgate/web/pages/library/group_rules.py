"""The rules that group items: their list, a form for one, and what it would do."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Response

from headgate.catalogue.groups import rules
from headgate.catalogue.groups.rule_trials import GroupTrial, try_rule
from headgate.domain.library.group_rules import EXAMPLE_PATTERN
from headgate.domain.words.group_words import RULE_KIND_WORDS
from headgate.storage.database import Tx
from headgate.storage.groups.rules import StoredGroupRule
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Confirmation, ask
from headgate.web.pages.rules import RuleForm, Text, add_removal, back_to, save_or_try
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/group-rules"
NEW_RULE: dict[str, Any] = {"name": "", "kind": "title", "pattern": EXAMPLE_PATTERN}
GroupRuleForm = RuleForm[StoredGroupRule, GroupTrial]

add_removal(
    routes,
    HOME,
    get=rules.get_rule,
    remove=rules.remove_rule,
    text="Its groups stay. To dissolve them, turn the rule off first.",
)


@routes.get("/group-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await rules.list_rules(tx)
    return site.renderer.render(
        "group_rules.html", caller=caller, home=HOME, rules=found, kinds=RULE_KIND_WORDS
    )


@routes.get("/group-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, caller: CurrentCaller) -> Response:
    return _render_form(site, caller, GroupRuleForm(NEW_RULE))


@routes.get("/group-rules/{rule_id}", door=ADMIN)
async def show_rule(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    return _render_form(site, caller, _form_of(rule, vars(rule.rule)))


@routes.post("/group-rules", door=ADMIN)
@routes.post("/group-rules/{rule_id}", door=ADMIN)
async def save_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    rule_id: UUID | None = None,
    name: Text = "",
    kind: Text = "",
    pattern: Text = "",
    do: Text = "",
) -> Response:
    """Save a new or a known rule, or only try it."""
    values = {"name": name, "kind": kind, "pattern": pattern}
    form = GroupRuleForm(values)
    if rule_id is not None:
        async with site.transaction() as tx:
            form = _form_of(await rules.get_rule(tx, rule_id), values)

    async def try_it(tx: Tx) -> GroupTrial:
        return await try_rule(tx, rules.read_rule(values), clock=site.parts.real_clock)

    async def save(tx: Tx) -> StoredGroupRule:
        if rule_id is not None:
            return await rules.edit_rule(tx, rule_id, values)
        made = rules.read_rule(values)
        return await rules.add_rule(tx, made, ids=site.parts.ids, now=site.parts.clock.now())

    async def show(shown: GroupRuleForm) -> Response:
        return _render_form(site, caller, shown)

    return await save_or_try(site, form, do, home=HOME, try_it=try_it, save=save, show=show)


@routes.post("/group-rules/{rule_id}/on", door=ADMIN)
async def switch_on(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.switch_on(tx, rule_id)
    return back_to(HOME, rule_id)


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
    return back_to(HOME, rule_id)


def _form_of(rule: StoredGroupRule, values: dict[str, Any]) -> GroupRuleForm:
    return GroupRuleForm(values, rule, in_use=rule.enabled or bool(rule.doing))


def _render_form(site: Site, caller: Caller, form: GroupRuleForm) -> Response:
    page = site.renderer.render(
        "group_rule_form.html", caller=caller, home=HOME, form=form, kinds=RULE_KIND_WORDS
    )
    page.status_code = 422 if form.problem else 200
    return page
