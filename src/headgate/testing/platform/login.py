"""How people sign in to the simulated platform: by a code, or by a QR code that another device scans."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from headgate.connectors.login_steps import (
    Action,
    Ask,
    LoginAttempt,
    LoginStep,
    Question,
    Shown,
    SignedIn,
    Waiting,
)
from headgate.testing.platform.errors import SimAuthError, SimBanned
from headgate.testing.platform.platform_state import PlatformState

CODE = "12345"
"""The code that every login asks for first; each new one is the next number."""
QR_LIFE = timedelta(seconds=30)
ASK_AGAIN_S = 2.0

_RESEND = Action("resend", "Send a new code")
_USE_QR = Action("qr", "Scan a QR code instead")
_USE_CODE = Action("code", "Use a code instead")


@dataclass(frozen=True)
class _Handshake:
    """What the platform's library would keep of a login; it exists nowhere but in the state."""

    codes_sent: int = 1
    token: int = 0
    """Which QR code is shown; 0: none."""
    token_until: str = ""
    begun_at: str = ""

    @classmethod
    def of(cls, state: str) -> _Handshake | None:
        return cls(**json.loads(state)) if state else None

    def dump(self) -> str:
        return json.dumps(asdict(self))


async def log_in(world: PlatformState, attempt: LoginAttempt) -> LoginStep:
    """Take one step; without a name the login asks for it first."""
    account = attempt.account or attempt.answers.get("account", "")
    if not account:
        return Ask((Question("account", "Account", hint=f"One of {', '.join(world.accounts)}."),))
    _check(world, account)
    handshake = _Handshake.of(attempt.state)
    if attempt.action == "qr" or (handshake is not None and handshake.token and not attempt.action):
        return _by_qr(world, account, handshake or _Handshake())
    return _by_code(world, account, handshake, attempt)


def _check(world: PlatformState, account: str) -> None:
    known = world.accounts.get(account)
    if known is None:
        raise SimAuthError(f"there is no account {account}")
    if known.state == "banned":
        raise SimBanned(f"{account} is banned")
    if known.destroyed:
        raise SimAuthError(f"the session of {account} was in use twice")


def _by_code(
    world: PlatformState, account: str, handshake: _Handshake | None, attempt: LoginAttempt
) -> LoginStep:
    if attempt.action == "resend" and handshake is not None:
        return _ask_code(account, replace(handshake, codes_sent=handshake.codes_sent + 1))
    if attempt.action == "code" or handshake is None or "code" not in attempt.answers:
        return _ask_code(account, replace(handshake or _Handshake(), token=0))
    if attempt.answers["code"] != _code(handshake):
        raise SimAuthError("the code is wrong")
    return _signed_in(world, account)


def _ask_code(account: str, handshake: _Handshake) -> Ask:
    hint = f"This world sends {_code(handshake)}."
    question = Question("code", f"Code that was sent to {account}", hint=hint)
    return Ask((question,), actions=(_RESEND, _USE_QR), state=handshake.dump())


def _code(handshake: _Handshake) -> str:
    return str(int(CODE) + handshake.codes_sent - 1)


def _by_qr(world: PlatformState, account: str, handshake: _Handshake) -> LoginStep:
    now = world.clock.now()
    if handshake.token and _is_scanned(world, account, handshake, now):
        return _signed_in(world, account)
    if not handshake.token or now >= datetime.fromisoformat(handshake.token_until):
        handshake = replace(
            handshake,
            token=handshake.token + 1,
            token_until=(now + QR_LIFE).isoformat(),
            begun_at=handshake.begun_at or now.isoformat(),
        )
    shown = Shown("qr", qr_text(account, handshake.token), datetime.fromisoformat(handshake.token_until))
    prompt = "Scan this code with a device on which you are signed in."
    return Waiting(prompt, ASK_AGAIN_S, shown, actions=(_USE_CODE,), state=handshake.dump())


def qr_text(account: str, token: int) -> str:
    return f"simulated://login/{account}/{token}"


def _is_scanned(world: PlatformState, account: str, handshake: _Handshake, now: datetime) -> bool:
    if qr_text(account, handshake.token) in world.scanned_codes:
        return True
    patience_s = world.profile.qr_scanned_after_s
    begun_at = datetime.fromisoformat(handshake.begun_at)
    return patience_s is not None and now - begun_at >= timedelta(seconds=patience_s)


def _signed_in(world: PlatformState, account: str) -> SignedIn:
    known = world.accounts[account]
    if known.state == "logged_out":
        known.state = "active"
    return SignedIn({"session": f"session of {account}"}, account=account)
