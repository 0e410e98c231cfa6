"""The rules that send things on: their list, a form for a new one, and what it would send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.shelf import views
from headgate.catalogue.shelf.listing import describe_view
from headgate.domain.errors import UserError
from headgate.domain.library.shelf_filters import ShelfView, parse_view
from headgate.outflow.library_sends import rules
from headgate.outflow.library_sends.rules import SendTrial
from headgate.storage.library_sends.rules import NewSendRule
from headgate.storage.reminders.targets import search_targets
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.pages.confirmations import Checkbox, Confirmation, ask
from headgate.web.parts import CurrentSite, Site

routes = Routes()

HOME = "/send-rules"
MAX_TARGETS = 500
Text = Annotated[str, Form(max_length=8000)]


@dataclass(frozen=True)
class SendRuleForm:
    """What the form of a new rule shows."""

    values: dict[str, str]
    problem: UserError | None = None
    trial: SendTrial | None = None


@routes.get("/send-rules", door=SIGNED_IN)
async def show_rules(site: CurrentSite, caller: CurrentCaller) -> Response:
    async with site.transaction() as tx:
        found = await rules.list_rules(tx)
        filters = {rule.id: await describe_view(tx, parse_view(rule.query)) for rule in found}
    return site.renderer.render("send_rules.html", caller=caller, rules=found, filters=filters)


@routes.get("/send-rules/new", door=ADMIN)
async def show_new(site: CurrentSite, request: Request, caller: CurrentCaller) -> Response:
    """Show the form, with the filters of the library's address if there are any."""
    view = parse_view(request.url.query)
    values = {"name": "", "query": ShelfView(view.filters).query, "target": ""}
    return await _render_form(site, caller, SendRuleForm(values))


@routes.post("/send-rules", door=ADMIN)
async def add_rule(
    site: CurrentSite,
    caller: CurrentCaller,
    name: Text = "",
    query: Text = "",
    target: Text = "",
    do: Text = "",
) -> Response:
    """Save a new rule, or only try it."""
    values = {"name": name, "query": query, "target": target}
    parts = site.parts
    try:
        rule = NewSendRule(name, query, _read_target(target), user_id=caller.user_id)
        async with site.transaction() as tx:
            if do == "try":
                trial = await rules.try_rule(tx, rule)
                return await _render_form(site, caller, SendRuleForm(values, trial=trial))
            added = await rules.add_rule(tx, rule, ids=parts.ids, now=parts.clock.now())
    except UserError as error:
        return await _render_form(site, caller, SendRuleForm(values, problem=error))
    return RedirectResponse(f"{HOME}#rule-{added.id}", status_code=303)


@routes.get("/send-rules/{rule_id}/on", door=ADMIN)
async def ask_to_switch_on(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        rule = await rules.get_rule(tx, rule_id)
        trial = await rules.try_rule(
            tx, NewSendRule(rule.name, rule.query, rule.target_id, rule.account_id), rule_id=rule_id
        )
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
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.post("/send-rules/{rule_id}/off", door=ADMIN)
async def switch_off(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.switch_off(tx, rule_id)
    return RedirectResponse(f"{HOME}#rule-{rule_id}", status_code=303)


@routes.get("/send-rules/{rule_id}/remove", door=ADMIN)
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
        texts=("What it sent stays where it is.",),
        is_grave=True,
    )
    return ask(site, caller, confirmation)


@routes.post("/send-rules/{rule_id}/remove", door=ADMIN)
async def remove_rule(site: CurrentSite, rule_id: UUID) -> Response:
    async with site.transaction() as tx:
        await rules.remove_rule(tx, rule_id)
    return RedirectResponse(HOME, status_code=303)


def _read_target(typed: str) -> UUID:
    try:
        return UUID(typed)
    except ValueError:
        raise UserError("Choose a target.", field="target_id") from None


async def _render_form(site: Site, caller: Caller, form: SendRuleForm) -> Response:
    async with site.transaction() as tx:
        targets = await search_targets(tx, limit=MAX_TARGETS)
        saved = await views.list_views(tx, user_id=caller.user_id)
    page = site.renderer.render("send_rule_form.html", caller=caller, form=form, targets=targets, saved=saved)
    page.status_code = 422 if form.problem else 200
    return page
