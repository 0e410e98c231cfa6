"""The rules that send things on: their list, a form for one, and what it would send."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Request, Response

from headgate.catalogue.shelf import views
from headgate.catalogue.shelf.listing import describe_view
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, parse_view
from headgate.outflow.library_sends import rules
from headgate.outflow.library_sends.rules import SendTrial
from headgate.storage.database import Tx
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule
from headgate.storage.reminders.targets import search_targets
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Confirmation, ask
from headgate.web.pages.rules import RuleForm, Text, add_removal, back_to, save_or_try
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/send-rules"
MAX_TARGETS = 500


SendRuleForm = RuleForm[StoredSendRule, SendTrial]

add_removal(
    routes, HOME, get=rules.get_rule, remove=rules.remove_rule, text="What it sent stays where it is."
)


@routes.get("/send-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await rules.list_rules(tx)
        filters = {rule.id: await describe_view(tx, parse_view(rule.query)) for rule in found}
    return site.renderer.render("send_rules.html", caller=caller, home=HOME, rules=found, filters=filters)


@routes.get("/send-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, request: Request, caller: CurrentCaller) -> Response:
    """Show the form, with the filters of the library's address if there are any."""
    view = parse_view(request.url.query)
    values = {"name": "", "query": ShelfView(view.filters).query, "target": ""}
    return await _render_form(site, caller, SendRuleForm(values))


@routes.get("/send-rules/{rule_id}", door=ADMIN)
async def show_rule(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
    values = {"name": rule.name, "query": rule.query, "target": str(rule.target_id)}
    return await _render_form(site, caller, SendRuleForm(values, rule, in_use=rule.enabled))


@routes.post("/send-rules", door=ADMIN)
@routes.post("/send-rules/{rule_id}", door=ADMIN)
async def save_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    rule_id: UUID | None = None,
    name: Text = "",
    query: Text = "",
    target: Text = "",
    do: Text = "",
) -> Response:
    """Save a new or a known rule, or only try it."""
    form = SendRuleForm({"name": name, "query": query, "target": target})
    if rule_id is not None:
        async with site.transaction() as tx:
            rule = await rules.get_rule(tx, rule_id)
        form = replace(form, rule=rule, in_use=rule.enabled)

    async def try_it(tx: Tx) -> SendTrial:
        return await rules.try_rule(tx, NewSendRule(name, query, _read_target(target)), rule_id=rule_id)

    async def save(tx: Tx) -> StoredSendRule:
        target_id = _read_target(target)
        if rule_id is None:
            made = NewSendRule(name, query, target_id, user_id=caller.user_id)
            return await rules.add_rule(tx, made, ids=site.parts.ids, now=site.parts.clock.now())
        return await rules.edit_rule(tx, rule_id, _typed(form, target_id))

    async def show(shown: SendRuleForm) -> Response:
        return await _render_form(site, caller, shown)

    return await save_or_try(site, form, do, home=HOME, try_it=try_it, save=save, show=show)


@routes.get("/send-rules/{rule_id}/on", door=ADMIN)
async def ask_to_switch_on(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
        trial = await rules.try_rule(tx, rule.rule, rule_id=rule_id)
    there = f"{trial.would_send:,}{' or more' if trial.has_older else ''}"
    confirmation = Confirmation(
        about=rule.name,
        back=HOME,
        question=f"Turn the rule “{rule.name}” on?",
        action=f"{HOME}/{rule_id}/on",
        button="Turn on",
        part="library",
        texts=(f"What arrives from now on and matches is sent to {rule.target_title}.",),
        ticks=(Checkbox("backfill", f"Also send what is there already ({there})"),),
    )
    return ask(site, caller, confirmation)


@routes.post("/send-rules/{rule_id}/on", door=ADMIN)
async def switch_on(site: CurrentSite, rule_id: UUID, backfill: Annotated[bool, Form()] = False) -> Response:
    async with site.transaction() as tx:
        await rules.switch_on(tx, rule_id, backfill=backfill, now=site.parts.clock.now())
    return back_to(HOME, rule_id)


@routes.post("/send-rules/{rule_id}/off", door=ADMIN)
async def switch_off(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.switch_off(tx, rule_id)
    return back_to(HOME, rule_id)


def _typed(form: SendRuleForm, target_id: UUID) -> dict[str, Any]:
    """Return what a form changes. Another target may need another account, so one that was named goes."""
    typed = {"name": form.values["name"], "query": form.values["query"], "target_id": target_id}
    moved = form.rule is not None and form.rule.target_id != target_id
    return {**typed, "account_id": None} if moved else typed


def _read_target(typed: str) -> UUID:
    try:
        return UUID(typed)
    except ValueError:
        raise UserError("Choose a target.", field="target_id") from None


async def _render_form(site: Site, caller: Caller, form: SendRuleForm) -> Response:
    async with site.transaction() as tx:
        targets = await search_targets(tx, limit=MAX_TARGETS)
        saved = await views.list_views(tx, user_id=caller.user_id)
    page = site.renderer.render(
        "send_rule_form.html", caller=caller, home=HOME, form=form, targets=targets, saved=saved
    )
    page.status_code = 422 if form.problem else 200
    return page
