"""Questions before something is done that cannot be undone, or that needs a choice.

A question is a page of its own, so that it works without scripts; with them it opens as a dialog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import Response

from headgate.web.callers import Caller
from headgate.web.parts import Site


@dataclass(frozen=True)
class Choice:
    """One of several."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    """What is sent, and what is shown."""
    typed: bool = False
    """The options are only suggestions: people type, and find what they type."""


@dataclass(frozen=True)
class Checkbox:
    """A yes or no."""

    name: str
    label: str
    is_on: bool = False


@dataclass(frozen=True)
class Confirmation:
    """A question about something, what to know before answering it, and what a yes does."""

    about: str
    back: str
    question: str
    action: str
    button: str
    part: str = "reminders"
    """The part of the site that it belongs to."""
    texts: Sequence[str] = ()
    warning: str = ""
    choices: Sequence[Choice] = ()
    ticks: Sequence[Checkbox] = ()
    carried: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a yes sends along."""
    swaps: str = ""
    """What the answer to a yes is put in place of, where the question is a dialog; else it is a page."""
    is_grave: bool = False
    is_possible: bool = True
    """Otherwise the texts say why not, and there is no button."""


def ask(site: Site, caller: Caller, confirmation: Confirmation) -> Response:
    return site.renderer.render("confirmation.html", caller=caller, confirmation=confirmation)
