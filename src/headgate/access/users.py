"""Actions on users, passwords and API tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from headgate.access.password_rules import weakness
from headgate.access.passwords import Passwords
from headgate.access.sessions import end_other_sessions
from headgate.access.throttle import Attempt, count_attempt, forgive
from headgate.access.tokens import new_api_token, token_hash
from headgate.domain.errors import Forbidden, NotFound, UserError
from headgate.domain.text import typed_text
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.logs import get_logger
from headgate.storage.access import api_tokens, known_browsers, users
from headgate.storage.access.api_tokens import ApiTokenLine, NewApiToken, Scope
from headgate.storage.access.users import Role, User
from headgate.storage.database import Tx

log = get_logger("access")

MAX_NAME_LENGTH = 60
TOKEN_DAYS = (7, 30, 90, 365)
DEFAULT_TOKEN_DAYS = 90
MAX_TOKEN_DAYS = 365

SETUP_LINK_SPENT = (
    "This link does not work any more. It works once, for a day, and only while there is no user. Start"
    " Headgate again to get a new one."
)


@dataclass(frozen=True)
class Access:
    """What these actions work with."""

    transaction: Callable[[], AbstractAsyncContextManager[Tx]]
    passwords: Passwords
    ids: Ids
    clock: Clock
    """Real time, also in a demo: sessions and tokens protect real things."""


@dataclass(frozen=True)
class FreshToken:
    """A token at the only moment at which it can be seen."""

    token: str = field(repr=False)
    line: ApiTokenLine


async def add_user(access: Access, *, name: str, password: str, role: Role) -> User:
    """Add a user."""
    name, password_hash = await _check_new_user(access, name=name, password=password)
    async with access.transaction() as tx:
        return await _insert_user(tx, access, name=name, password_hash=password_hash, role=role)


async def add_administrator(access: Access, setup_token: str, *, name: str, password: str) -> User:
    """Add the first user by the link that is printed at the first start; the link then stops working."""
    await check_setup_link(access, setup_token)
    name, password_hash = await _check_new_user(access, name=name, password=password)
    async with access.transaction() as tx:
        await users.lock_users(tx)
        if not await users.is_setup_link_open(tx, token_hash(setup_token), now=access.clock.now()):
            raise NotFound(SETUP_LINK_SPENT)
        user = await _insert_user(tx, access, name=name, password_hash=password_hash, role="admin")
        await users.delete_setup_links(tx)
    log.info("the administrator was added", name=user.name)
    return user


async def check_setup_link(access: Access, setup_token: str) -> None:
    """Raise `NotFound` unless the link still works."""
    async with access.transaction() as tx:
        if not await users.is_setup_link_open(tx, token_hash(setup_token), now=access.clock.now()):
            raise NotFound(SETUP_LINK_SPENT)


async def check_password(access: Access, attempt: Attempt, password: str) -> User | None:
    """Return the user if the password is right; raise `Throttled` if it must not be tried yet."""
    now = access.clock.now()
    async with access.transaction() as tx:
        user = await users.get_user_by_name(tx, attempt.name)
        counted = await count_attempt(tx, attempt, user.id if user else None, now=now)
    verdict = await access.passwords.verify(password, user.password_hash if user else None)
    if user is None or not verdict.right:
        log.warning("a sign-in failed", name=attempt.name, address=attempt.address)
        return None
    async with access.transaction() as tx:
        await forgive(tx, counted, now=now)
        if verdict.fresh_hash is not None:
            await users.replace_password_hash(tx, user, verdict.fresh_hash)
    return user


async def change_password(
    access: Access, attempt: Attempt, *, current: str, password: str, revoke_tokens: bool
) -> None:
    """Change the password of a user who knows the current one; see `set_password`."""
    if reason := weakness(password, name=attempt.name):
        raise UserError(reason, field="password")
    user = await check_password(access, attempt, current)
    if user is None:
        raise Forbidden("The current password is wrong.", field="current")
    await set_password(access, user, password, revoke_tokens=revoke_tokens)


async def set_password(access: Access, user: User, password: str, *, revoke_tokens: bool) -> None:
    """Set a password; all sessions of the user end, and on request all API tokens."""
    if reason := weakness(password, name=user.name):
        raise UserError(reason, field="password")
    password_hash = await access.passwords.hash(password)
    async with access.transaction() as tx:
        await users.set_password_hash(tx, user.id, password_hash)
        await end_other_sessions(tx, user_id=user.id, keep_id=None)
        await known_browsers.forget_browsers(tx, user.id)
        if revoke_tokens:
            await api_tokens.delete_api_tokens(tx, user.id)


async def change_role(access: Access, user: User, role: Role) -> None:
    """Change what a user may do; one administrator must remain."""
    async with access.transaction() as tx:
        if not await users.set_role(tx, user.id, role):
            raise _last_administrator(user)


async def remove_user(access: Access, user: User) -> None:
    """Remove a user with all sessions and API tokens; one administrator must remain."""
    async with access.transaction() as tx:
        if not await users.delete_user(tx, user.id):
            raise _last_administrator(user)


async def create_api_token(
    access: Access,
    *,
    user_id: UUID,
    own_scopes: Collection[Scope],
    name: str,
    scopes: Collection[Scope],
    days: int = DEFAULT_TOKEN_DAYS,
) -> FreshToken:
    """Create a token that works for some days; what is returned is the only copy of it."""
    if not set(scopes) <= set(own_scopes):
        raise Forbidden("A token cannot have more rights than its owner.", field="scopes")
    if not 1 <= days <= MAX_TOKEN_DAYS:
        raise UserError(f"A token lasts between 1 and {MAX_TOKEN_DAYS} days.", field="days")
    token = new_api_token()
    now = access.clock.now()
    async with access.transaction() as tx:
        line = await api_tokens.insert_api_token(
            tx,
            NewApiToken(
                id=access.ids.new(),
                user_id=user_id,
                name=typed_text(name, max_length=MAX_NAME_LENGTH) or "unnamed",
                token_hash=token_hash(token),
                scopes=sorted(set(scopes)),
                expires_at=now + timedelta(days=days),
            ),
            now=now,
        )
    return FreshToken(token, line)


async def revoke_api_token(access: Access, token_id: UUID, *, user_id: UUID) -> None:
    """Revoke a token at once."""
    async with access.transaction() as tx:
        if not await api_tokens.delete_api_token(tx, token_id=token_id, user_id=user_id):
            raise NotFound("There is no such token.")


async def _check_new_user(access: Access, *, name: str, password: str) -> tuple[str, str]:
    """Return the name as it is stored and the password's hash."""
    name = typed_text(name)
    if not name or len(name) > MAX_NAME_LENGTH:
        raise UserError(f"A name has between 1 and {MAX_NAME_LENGTH} characters.", field="name")
    if reason := weakness(password, name=name):
        raise UserError(reason, field="password")
    return name, await access.passwords.hash(password)


async def _insert_user(tx: Tx, access: Access, *, name: str, password_hash: str, role: Role) -> User:
    user = await users.insert_user(
        tx,
        user_id=access.ids.new(),
        name=name,
        password_hash=password_hash,
        role=role,
        now=access.clock.now(),
    )
    if user is None:
        raise UserError(f"There is already a user {name!r}.", remedy="Choose another name.", field="name")
    return user


def _last_administrator(user: User) -> UserError:
    return UserError(
        f"{user.name} is the last administrator.", remedy="Make another user an administrator first."
    )
