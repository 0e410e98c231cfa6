"""The caller's own account and API tokens.

Making and revoking takes the scope `admin`, so that a leaked lesser token cannot make others that
outlive it.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import HTTPException, Request
from pydantic import BaseModel, Field

from headgate.access.password_rules import MAX_LENGTH
from headgate.access.throttle import Attempt, Throttled
from headgate.access.users import (
    DEFAULT_TOKEN_DAYS,
    MAX_NAME_LENGTH,
    MAX_TOKEN_DAYS,
    create_api_token,
    revoke_api_token,
)
from headgate.access.users import change_password as change_own_password
from headgate.storage.access import api_tokens
from headgate.storage.access.api_tokens import ApiTokenLine, Scope
from headgate.storage.access.users import Role
from headgate.web.callers import CurrentCaller
from headgate.web.cookies import browser_of
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)


class MeAnswer(BaseModel):
    """Who is calling."""

    name: str
    role: Role
    scopes: list[Scope]


class TokensAnswer(BaseModel):
    tokens: list[ApiTokenLine]


@dataclass(frozen=True, kw_only=True)
class FreshTokenAnswer(ApiTokenLine):
    """A new token, shown only once."""

    token: str


class TokenWish(BaseModel):
    """What a new token is for."""

    name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    scopes: list[Scope] = Field(min_length=1, max_length=3)
    days: int = Field(default=DEFAULT_TOKEN_DAYS, ge=1, le=MAX_TOKEN_DAYS)


class PasswordWish(BaseModel):
    """A new password, and whether to revoke API tokens."""

    current: str = Field(max_length=MAX_LENGTH)
    password: str = Field(max_length=MAX_LENGTH)
    revoke_tokens: bool


@routes.get("/me", door=scope("read"), tags=["account"])
async def get_me(caller: CurrentCaller) -> MeAnswer:
    """Show who is calling."""
    return MeAnswer(name=caller.user_name, role=caller.role, scopes=sorted(caller.scopes))


@routes.put("/me/password", door=scope("write"), status_code=204, tags=["account"])
async def change_password(
    request: Request, site: CurrentSite, caller: CurrentCaller, wish: PasswordWish
) -> None:
    """Set a new password and sign out everywhere; optionally revoke all API tokens."""
    browser = browser_of(request)
    attempt = Attempt(caller.user_name, browser.address, browser.secret)
    try:
        await change_own_password(
            site.access,
            attempt,
            current=wish.current,
            password=wish.password,
            revoke_tokens=wish.revoke_tokens,
        )
    except Throttled as throttled:
        raise HTTPException(429, headers={"retry-after": str(throttled.wait_s)}) from None


@routes.get("/tokens", door=scope("read"), tags=["account"])
async def list_tokens(site: CurrentSite, caller: CurrentCaller) -> TokensAnswer:
    """List the caller's API tokens."""
    async with site.transaction() as tx:
        lines = await api_tokens.list_api_tokens(tx, caller.user_id)
    return TokensAnswer(tokens=lines)


@routes.post("/tokens", door=scope("admin"), status_code=201, tags=["account"])
async def add_token(site: CurrentSite, caller: CurrentCaller, wish: TokenWish) -> FreshTokenAnswer:
    """Create an API token; only this answer shows it."""
    fresh = await create_api_token(
        site.access,
        user_id=caller.user_id,
        own_scopes=caller.scopes,
        name=wish.name,
        scopes=wish.scopes,
        days=wish.days,
    )
    return FreshTokenAnswer(token=fresh.token, **vars(fresh.line))


@routes.delete("/tokens/{token_id}", door=scope("admin"), status_code=204, tags=["account"])
async def revoke_token(site: CurrentSite, caller: CurrentCaller, token_id: UUID) -> None:
    """Revoke an API token at once."""
    await revoke_api_token(site.access, token_id, user_id=caller.user_id)
