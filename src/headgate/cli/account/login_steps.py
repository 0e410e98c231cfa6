"""The steps of a login at a terminal: questions, QR codes, waiting."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

import segno
import typer

from headgate.connectors.login_steps import Ask, Question, Shown, Waiting
from headgate.domain.errors import NotFound, UserError
from headgate.intake.channels.logins import Login, LoginReply, Logins

_ACTION_SIGN = "!"
_QUIET_ZONE = 2
_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
"""By the upper and lower light modules of a character."""


class Prepared:
    """What was given on the command line: answers by name, and actions to choose; each is used once."""

    def __init__(self, answers: Mapping[str, str], actions: list[str]) -> None:
        self._answers = dict(answers)
        self._actions = list(actions)

    def action_of(self, step: Ask | Waiting) -> str:
        offered = {action.name for action in step.actions}
        chosen = next((name for name in self._actions if name in offered), "")
        if chosen:
            self._actions.remove(chosen)
        return chosen

    def answer_to(self, question: Question) -> str | None:
        return self._answers.pop(question.name, None)


async def finish_login(logins: Logins, login: Login, prepared: Prepared) -> Login:
    """Take a login to its end, with the person at the terminal."""
    shown: Shown | None = None
    while login.account_id is None:
        step = login.step
        if isinstance(step, Ask):
            login = await _answer(logins, login, _reply(step, prepared))
            continue
        action = "" if step is None else prepared.action_of(step)
        if step is not None and not action and step.shown != shown:
            shown = step.shown
            _show(step)
        if login.problem:
            typer.echo(login.problem, err=True)
        if not action:
            await asyncio.sleep(login.ask_again_s)
        login = await logins.go_on(login.id, LoginReply(action=action))
    return login


async def _answer(logins: Logins, login: Login, reply: LoginReply) -> Login:
    """Send a reply; a person who sits there may try again what was refused."""
    try:
        return await logins.go_on(login.id, reply)
    except UserError as error:
        if isinstance(error, NotFound) or not sys.stdin.isatty():
            raise
        typer.echo(str(error), err=True)
        return login


def _reply(step: Ask, prepared: Prepared) -> LoginReply:
    if action := prepared.action_of(step):
        return LoginReply(action=action)
    answers: dict[str, str] = {}
    for question in step.questions:
        answer = prepared.answer_to(question)
        typed = _prompt(question, step) if answer is None else answer
        if typed.startswith(_ACTION_SIGN) and typed[1:] in {action.name for action in step.actions}:
            return LoginReply(action=typed[1:])
        answers[question.name] = typed
    return LoginReply(answers)


def _prompt(question: Question, step: Ask) -> str:
    if not sys.stdin.isatty():
        if question.optional:
            return ""
        raise UserError(
            f"The login asks for {question.name!r} ({question.prompt}), and there is no terminal to ask on.",
            remedy=f"Give it with --answer {question.name}=VALUE.",
        )
    if question.hint:
        typer.echo(question.hint, err=True)
    for action in step.actions:
        typer.echo(f"Or type {_ACTION_SIGN}{action.name}: {action.label}.", err=True)
    default = question.choices[0] if question.choices else "" if question.optional else None
    while True:
        choices = f" [{', '.join(question.choices)}]" if question.choices else ""
        typed: str = typer.prompt(
            f"{question.prompt}{choices}",
            default=default,
            show_default=bool(default),
            hide_input=question.secret,
            err=True,
        )
        if not question.choices or typed in question.choices or typed.startswith(_ACTION_SIGN):
            return typed
        typer.echo(f"Choose one of {', '.join(question.choices)}.", err=True)


def _show(step: Waiting) -> None:
    typer.echo(step.prompt, err=True)
    if step.shown is None:
        return
    if step.shown.kind == "qr":
        typer.echo(draw_qr(step.shown.value), err=True)
    typer.echo(step.shown.value, err=True)
    if step.actions:
        others = "; ".join(f"--choose {action.name}: {action.label}" for action in step.actions)
        typer.echo(f"Waiting; Ctrl-C stops. Another way: {others}.", err=True)


def draw_qr(text: str) -> str:
    """Return a QR code in half blocks, light on dark as most terminals are."""
    rows = [
        [not module for module in row]
        for row in segno.make(text, micro=False).matrix_iter(border=_QUIET_ZONE)
    ]
    if len(rows) % 2:
        rows.append([False] * len(rows[0]))
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return "\n".join("".join(_BLOCKS[pair] for pair in zip(*two, strict=True)) for two in pairs)
