"""The steps of a login, as a terminal, a page and the API can all take them.

A connector keeps nothing in memory between two steps: the next one may be taken by another process, minutes
later. What it needs then goes into `state`, which is sealed and stored with the login.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

MAX_STATE_LENGTH = 64_000
"""Characters of state that a step may carry; sessions of libraries fit, caches do not."""


@dataclass(frozen=True)
class Action:
    """Something else that a person can do at a step, such as asking for a new code."""

    name: str
    label: str


@dataclass(frozen=True)
class Question:
    """One thing that a login needs to know."""

    name: str
    prompt: str
    secret: bool = False
    """The answer is hidden while it is typed."""
    choices: tuple[str, ...] = ()
    """The only possible answers, the usual one first; empty if any text is one."""
    optional: bool = False
    """The answer may be empty."""
    hint: str = ""
    """What helps to answer it, where the prompt alone does not."""


@dataclass(frozen=True)
class Ask:
    """Questions to the person, answered together. An earlier answer of the same name is replaced."""

    questions: tuple[Question, ...]
    actions: tuple[Action, ...] = ()
    state: str = field(default="", repr=False)


@dataclass(frozen=True)
class Shown:
    """Something for the person to use on another device or site."""

    kind: Literal["qr", "link", "code"]
    """The text of a QR code, an address to open, or a code to type elsewhere."""
    value: str = field(repr=False)
    expires_at: datetime | None = None
    """When it stops working; the step after that shows a new one."""


@dataclass(frozen=True)
class Waiting:
    """The person has something to do elsewhere, or the platform needs time: take another step later."""

    prompt: str
    ask_again_s: float = 2.0
    shown: Shown | None = None
    actions: tuple[Action, ...] = ()
    state: str = field(default="", repr=False)


@dataclass(frozen=True)
class SignedIn:
    """The login has succeeded; the secrets open the account from now on."""

    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    account: str = ""
    """What the platform calls the account; it names an account that the person has not named."""


LoginStep = Ask | Waiting | SignedIn


@dataclass(frozen=True)
class LoginAttempt:
    """Where a login stands: everything a connector gets to take the next step."""

    account: str = ""
    """The name that the person gave the account; empty if they gave none."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Those of an earlier login."""
    answers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """All answers so far, by the names of their questions."""
    state: str = field(default="", repr=False)
    """What the previous step returned; empty at the first one."""
    action: str = ""
    """The action that the person chose instead of an answer; empty for none."""
