"""What pages of rules share: a form that saves a rule or only tries it, and removing one after a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Protocol, TypeVar
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.domain.errors import UserError
from headgate.storage.database import Tx
from headgate.web.callers import CurrentCaller
from headgate.web.door import ADMIN, Routes
from headgate.web.pages.confirmations import Confirmation, ask
from headgate.web.parts import CurrentSite, Site


class NamedRule(Protocol):
    """A stored rule of any kind."""

    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...


Rule = TypeVar("Rule", bound=NamedRule)
Trial = TypeVar("Trial")
Text = Annotated[str, Form(max_length=8000)]


@dataclass(frozen=True)
class RuleForm(Generic[Rule, Trial]):
    """What the form of a rule shows."""

    values: Mapping[str, Any]
    rule: Rule | None = None
    """The rule that is edited; None: a new one."""
    in_use: bool = False
    """It cannot be changed now, only tried."""
    problem: UserError | None = None
    trial: Trial | None = None


async def save_or_try(
    site: Site,
    form: RuleForm[Rule, Trial],
    do: str,
    *,
    home: str,
    try_it: Callable[[Tx], Awaitable[Trial]],
    save: Callable[[Tx], Awaitable[Rule]],
    show: Callable[[RuleForm[Rule, Trial]], Awaitable[Response]],
) -> Response:
    """Save and return to the list, or show the form again with what the rule would do or what is wrong."""
    try:
        async with site.transaction() as tx:
            if do != "try":
                return back_to(home, (await save(tx)).id)
            trial = await try_it(tx)
    except UserError as error:
        return await show(replace(form, problem=error))
    return await show(replace(form, trial=trial))


def back_to(home: str, rule_id: UUID) -> Response:
    """Return to a rule in its list."""
    return RedirectResponse(f"{home}#rule-{rule_id}", status_code=303)


def add_removal(
    routes: Routes,
    home: str,
    *,
    get: Callable[[Tx, UUID], Awaitable[NamedRule]],
    remove: Callable[[Tx, UUID], Awaitable[object]],
    text: str,
) -> None:
    """Add the pages that ask whether a rule is to be removed, and remove it."""

    @routes.get(f"{home}/{{rule_id}}/remove", door=ADMIN)
    async def ask_to_remove(site: CurrentSite, caller: CurrentCaller, rule_id: UUID) -> Response:
        async with site.transaction() as tx:
            rule = await get(tx, rule_id)
        confirmation = Confirmation(
            about=rule.name,
            back=home,
            question=f"Remove the rule “{rule.name}”?",
            action=f"{home}/{rule_id}/remove",
            button="Remove rule",
            part="library",
            texts=(text,),
            is_grave=True,
        )
        return ask(site, caller, confirmation)

    @routes.post(f"{home}/{{rule_id}}/remove", door=ADMIN)
    async def remove_rule(site: CurrentSite, rule_id: UUID) -> Response:
        async with site.transaction() as tx:
            await remove(tx, rule_id)
        return RedirectResponse(home, status_code=303)

    _ = ask_to_remove, remove_rule
