"""The sign-in: by password, or with an access token that a person has."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from headgate.connectors.login_steps import Action, Ask, LoginAttempt, LoginStep, Question, SignedIn
from headgate.connectors.matrix import requests
from headgate.connectors.matrix.errors import TOKEN_CODES, NotSignedIn, NotUnderstood, Refused
from headgate.connectors.matrix.http import Homeserver, Request
from headgate.connectors.matrix.shapes import part, text
from headgate.kernel.connector_settings import MatrixSettings

HOMESERVER = Question(
    "homeserver",
    "Home server",
    hint="Its name or address, such as matrix.org or https://matrix.example.org:8448.",
)
USER = Question("user", "User name", hint="Such as @name:example.org, or only name.")
PASSWORD = Question("password", "Password", secret=True, hint="It is not stored.")
TOKEN = Question("token", "Access token", secret=True)
INVITATIONS = Question("invitations", "Accept invitations to rooms", choices=("no", "yes"))
ROOMS = Question(
    "rooms", "Rooms to join", optional=True, hint="Such as #room:example.org, separated by spaces."
)
_WISHES = (ROOMS, INVITATIONS)
_BY_METHOD = {"password": (USER, PASSWORD), "token": (TOKEN,)}
_OTHER_METHOD = {
    "password": Action("token", "Use an access token"),
    "token": Action("password", "Use a password"),
}
_DISCOVERY_S = 10.0


async def log_in(settings: MatrixSettings, attempt: LoginAttempt) -> LoginStep:
    """Ask for everything on one form, or sign in with the answers; the state is the method."""
    answers, method = attempt.answers, attempt.action or attempt.state or "password"
    ask = _ask(settings, method)
    if attempt.action or any(question.name not in answers for question in ask.questions):
        return ask
    timeout_s = settings.timeout_s
    address = await find_homeserver(settings.homeserver or answers["homeserver"], timeout_s=timeout_s)
    if method == "token":
        opened = await _with_token(address, answers["token"].strip(), timeout_s=timeout_s)
    else:
        device_id = _device_of(attempt.secrets, address=address, user=answers["user"])
        request = requests.login(answers["user"].strip(), answers["password"], device_id=device_id)
        opened = await _with_password(address, request, timeout_s=timeout_s)
    wishes = {"invitations": answers["invitations"], "rooms": answers["rooms"].strip()}
    return SignedIn({"homeserver": address, **opened, **wishes}, account=opened["user_id"])


def _ask(settings: MatrixSettings, method: str) -> Ask:
    where = () if settings.homeserver else (HOMESERVER,)
    questions = (*where, *_BY_METHOD[method], *_WISHES)
    return Ask(questions, actions=(_OTHER_METHOD[method],), state=method)


async def log_out(secrets: Mapping[str, str], *, timeout_s: float) -> None:
    """End the session; one that has ended already is no error."""
    if not secrets.get("access_token"):
        return
    async with _at(secrets["homeserver"], token=secrets["access_token"], timeout_s=timeout_s) as server:
        try:
            await server.ask(requests.logout())
        except Refused as refusal:
            if refusal.code not in TOKEN_CODES:
                raise


async def find_homeserver(typed: str, *, timeout_s: float) -> str:
    """Return the address of a homeserver: as it is typed, or as its domain publishes it."""
    typed = typed.strip().rstrip("/")
    if typed.startswith(("http://", "https://")):
        return typed
    domain = typed.rpartition(":")[2] if typed.startswith(("@", "#")) else typed
    async with _at(f"https://{domain}", timeout_s=min(timeout_s, _DISCOVERY_S)) as site:
        try:
            answer = await site.ask(requests.discovery())
        except (Refused, NotUnderstood):
            return f"https://{domain}"
    published = text(part(answer, "m.homeserver"), "base_url").rstrip("/")
    return published if published.startswith("https://") else f"https://{domain}"


def _device_of(secrets: Mapping[str, str], *, address: str, user: str) -> str:
    """Return the user's device of the last sign-in: the server remembers what was sent from it."""
    same_user = _local_part(secrets.get("user_id", "")) == _local_part(user)
    same_server = secrets.get("homeserver") == address
    return secrets.get("device_id", "") if same_user and same_server else ""


def _local_part(user: str) -> str:
    return user.strip().removeprefix("@").partition(":")[0]


async def _with_password(address: str, request: Request, *, timeout_s: float) -> dict[str, str]:
    async with _at(address, timeout_s=timeout_s) as server:
        try:
            answer = await server.ask(request)
        except Refused as refusal:
            if refusal.status == HTTPStatus.FORBIDDEN and refusal.code == "M_FORBIDDEN":
                raise NotSignedIn(f"the homeserver refuses the sign-in: {refusal}") from refusal
            raise
    return _kept(answer, text(answer, "access_token"))


async def _with_token(address: str, token: str, *, timeout_s: float) -> dict[str, str]:
    async with _at(address, token=token, timeout_s=timeout_s) as server:
        return _kept(await server.ask(requests.whoami()), token)


def _kept(answer: Mapping[str, object], token: str) -> dict[str, str]:
    answer = dict(answer)
    kept = {"user_id": text(answer, "user_id"), "device_id": text(answer, "device_id"), "access_token": token}
    if not kept["user_id"] or not token:
        raise NotUnderstood("the homeserver answered the sign-in without a user or a token")
    return kept


@asynccontextmanager
async def _at(address: str, *, token: str = "", timeout_s: float) -> AsyncGenerator[Homeserver, None]:
    server = Homeserver(address, token=token, timeout_s=timeout_s)
    try:
        yield server
    finally:
        await server.close()
