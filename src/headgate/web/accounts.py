"""What is done with users and their tokens, whoever asks: a page, the API or a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.kernel.logs import get_logger
from headgate.storage import api_tokens, known_browsers, users
from headgate.storage.api_tokens import ApiTokenLine, NewApiToken, Scope
from headgate.storage.database import Tx
from headgate.storage.users import Role, User
from headgate.web.parts import Site
from headgate.web.password_rules import weakness
from headgate.web.sessions import end_other_sessions
from headgate.web.throttle import Attempt, count_attempt, forgive
from headgate.web.tokens import new_api_token, token_hash
from headgate.web.typed import typed_text

log = get_logger("door")

LONGEST_NAME = 60
TOKEN_DAYS = (7, 30, 90, 365)
DEFAULT_TOKEN_DAYS = 90
MAX_TOKEN_DAYS = 365


@dataclass(frozen=True)
class FreshToken:
    """A token at the only moment at which it can be seen."""

    token: str = field(repr=False)
    line: ApiTokenLine


async def check_new_user(site: Site, *, name: str, password: str) -> tuple[str, str]:
    """Return the name as it is stored and the password's hash; refuse what will not do."""
    name = typed_text(name)
    if not name or len(name) > LONGEST_NAME:
        raise UserError(f"A name has between 1 and {LONGEST_NAME} characters.")
    if reason := weakness(password, name=name):
        raise UserError(reason)
    return name, await site.passwords.hash(password)


async def add_user(tx: Tx, site: Site, *, name: str, password_hash: str, role: Role) -> User:
    """Add a user whose name and password were checked before."""
    user = await users.insert_user(
        tx,
        user_id=site.parts.ids.new(),
        name=name,
        password_hash=password_hash,
        role=role,
        now=site.parts.real_clock.now(),
    )
    if user is None:
        raise UserError(f"There is a user {name!r} already.", remedy="Choose another name.")
    return user


async def check_password(site: Site, attempt: Attempt, password: str) -> User | None:
    """Return the user if the password is right; raise `Throttled` if it must not be tried yet."""
    now = site.parts.real_clock.now()
    async with site.transaction() as tx:
        user = await users.get_user_by_name(tx, attempt.name)
        counted = await count_attempt(tx, attempt, user.id if user else None, now=now)
    verdict = await site.passwords.verify(password, user.password_hash if user else None)
    if user is None or not verdict.right:
        log.warning("a sign-in failed", name=attempt.name, address=attempt.address)
        return None
    async with site.transaction() as tx:
        await forgive(tx, counted, now=now)
        if verdict.fresh_hash is not None:
            await users.replace_password_hash(tx, user, verdict.fresh_hash)
    return user


async def set_password(tx: Tx, user_id: UUID, password_hash: str, *, revoke_tokens: bool) -> None:
    """Set a password that was checked before; every sign-in ends, and if wanted every API token."""
    await users.set_password_hash(tx, user_id, password_hash)
    await end_other_sessions(tx, user_id=user_id, keep_id=None)
    await known_browsers.forget_browsers(tx, user_id)
    if revoke_tokens:
        await api_tokens.delete_api_tokens(tx, user_id)


async def make_api_token(
    tx: Tx, site: Site, *, user_id: UUID, name: str, scopes: list[Scope], days: int = DEFAULT_TOKEN_DAYS
) -> FreshToken:
    """Make a token that works for some days; what is returned is the only copy of it."""
    if not 1 <= days <= MAX_TOKEN_DAYS:
        raise UserError(f"A token lasts between 1 and {MAX_TOKEN_DAYS} days.")
    token = new_api_token()
    now = site.parts.real_clock.now()
    line = await api_tokens.insert_api_token(
        tx,
        NewApiToken(
            id=site.parts.ids.new(),
            user_id=user_id,
            name=typed_text(name, longest=LONGEST_NAME) or "unnamed",
            token_hash=token_hash(token),
            scopes=scopes,
            expires_at=now + timedelta(days=days),
        ),
        now=now,
    )
    return FreshToken(token, line)
