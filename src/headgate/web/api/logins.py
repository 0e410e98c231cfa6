"""Signing accounts in, and following what they see."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from headgate.connectors.login_steps import Ask, Waiting
from headgate.domain.streams.channel_settings import FetchWhat
from headgate.intake.channels.logins import MAX_ANSWER_LENGTH, Login, LoginReply, LoginWish
from headgate.outflow.sending.pace import get_account
from headgate.storage.channels.channels import Account
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite, Site

routes = Routes("/api/v1", in_schema=True)


class ActionAnswer(BaseModel):
    name: str
    label: str


class QuestionAnswer(BaseModel):
    name: str
    prompt: str
    hint: str
    secret: bool
    optional: bool
    choices: list[str]


class ShownAnswer(BaseModel):
    """Something to use elsewhere: the text of a QR code, an address, or a code to type."""

    kind: Literal["qr", "link", "code"]
    value: str
    expires_at: datetime | None


class LoginAnswer(BaseModel):
    """Where a login stands.

    `asks`: answer `questions`. `waits`: use what is `shown`, and post again after `ask_again_s` seconds.
    `signed_in`: `account_id` is the account.
    """

    id: UUID
    platform: str
    name: str
    state: Literal["asks", "waits", "signed_in"]
    prompt: str = ""
    questions: list[QuestionAnswer] = Field(default_factory=list[QuestionAnswer])
    shown: ShownAnswer | None = None
    actions: list[ActionAnswer] = Field(default_factory=list[ActionAnswer])
    ask_again_s: float | None = None
    problem: str
    expires_at: datetime
    account_id: UUID | None

    @classmethod
    def of(cls, login: Login) -> LoginAnswer:
        ask = login.step if isinstance(login.step, Ask) else None
        waiting = login.step if isinstance(login.step, Waiting) else None
        shown: dict[str, Any] = {
            "state": "signed_in" if login.account_id else "asks" if ask else "waits",
            "prompt": waiting.prompt if waiting else "",
            "questions": ask.questions if ask else (),
            "shown": waiting.shown if waiting else None,
            "actions": login.step.actions if login.step else (),
            "ask_again_s": None if ask or login.account_id else login.ask_again_s,
        }
        return cls.model_validate({**vars(login), **shown}, from_attributes=True)


class LoginBody(BaseModel):
    """A new account on a platform, or one that is there (`account_id`)."""

    platform: str = ""
    name: str = Field(default="", max_length=200)
    established: bool = False
    account_id: UUID | None = None


class ReplyBody(BaseModel):
    """Answers by the names of their questions, or an action; nothing asks whether there is news."""

    answers: dict[str, str] = Field(default_factory=dict[str, str], max_length=50)
    action: str = Field(default="", max_length=MAX_ANSWER_LENGTH)


class VisibleChannel(BaseModel):
    key: str
    title: str
    parent: str
    parent_title: str
    followed: bool


class VisibleAnswer(BaseModel):
    channels: list[VisibleChannel]


class FollowBody(BaseModel):
    """Keys or titles of channels to follow."""

    channels: list[str] = Field(min_length=1, max_length=10_000)
    fetch: FetchWhat | None = None


class FollowedAnswer(BaseModel):
    streams: list[UUID]
    stand_bys: int
    adopted: int


@routes.post("/accounts/logins", door=scope("admin"), status_code=201, tags=["accounts"])
async def begin(site: CurrentSite, body: LoginBody) -> LoginAnswer:
    """Begin to sign in an account, new or known."""
    account = None if body.account_id is None else await _account(site, body.account_id)
    platform = body.platform if account is None else account.platform
    return LoginAnswer.of(await site.logins.begin(LoginWish(platform, body.name, body.established, account)))


@routes.get("/accounts/logins/{login_id}", door=scope("admin"), tags=["accounts"])
async def show(site: CurrentSite, login_id: UUID) -> LoginAnswer:
    """Show where a login stands, without asking the platform."""
    return LoginAnswer.of(await site.logins.get(login_id))


@routes.post("/accounts/logins/{login_id}", door=scope("admin"), tags=["accounts"])
async def go_on(site: CurrentSite, login_id: UUID, body: ReplyBody) -> LoginAnswer:
    """Take the next step of a login."""
    return LoginAnswer.of(await site.logins.go_on(login_id, LoginReply(body.answers, body.action)))


@routes.delete("/accounts/logins/{login_id}", door=scope("admin"), status_code=204, tags=["accounts"])
async def cancel(site: CurrentSite, login_id: UUID) -> None:
    """Give a login up."""
    await site.logins.cancel(login_id)


@routes.get("/accounts/{account_id}/channels", door=scope("admin"), tags=["accounts"])
async def list_visible(site: CurrentSite, account_id: UUID) -> VisibleAnswer:
    """Ask the platform which channels an account sees."""
    visible = await site.choice.list_visible(await _account(site, account_id))
    followed = {one.key for one in visible.followed}
    found = [{**vars(one), "followed": one.key in followed} for one in visible.channels]
    return VisibleAnswer.model_validate({"channels": found})


@routes.post("/accounts/{account_id}/channels", door=scope("admin"), tags=["accounts"])
async def follow(site: CurrentSite, account_id: UUID, body: FollowBody) -> FollowedAnswer:
    """Follow channels that an account sees."""
    chosen = await site.choice.follow(await _account(site, account_id), body.channels, fetch=body.fetch)
    return FollowedAnswer.model_validate(chosen.followed, from_attributes=True)


async def _account(site: Site, account_id: UUID) -> Account:
    async with site.transaction() as tx:
        return await get_account(tx, account_id)
