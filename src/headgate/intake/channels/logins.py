"""Actions on logins: signing accounts in step by step, from a terminal, a page or the API.

A login is a row and a sealed value, so that any process can take its next step, also after a restart. One
process at a time does: it claims the login, calls the platform outside a transaction, and stores what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from pydantic import TypeAdapter

from headgate.connectors.login_steps import Ask, LoginAttempt, LoginStep, SignedIn, Waiting
from headgate.connectors.protocol import Connector
from headgate.domain.errors import NotFound, RateLimited, Transient, UserError, WorkError
from headgate.intake.channels import accounts
from headgate.intake.channels.accounts import NewAccount
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.lanes.links import Links
from headgate.storage import secrets
from headgate.storage.channels import account_logins
from headgate.storage.channels.account_logins import LoginRow
from headgate.storage.channels.channels import Account, list_accounts
from headgate.storage.database import Database, Tx

LIFE = timedelta(minutes=15)
"""How long a login waits for its person; each answer begins it anew."""
STEP_S = 60.0
CLAIM = timedelta(seconds=STEP_S + accounts.HAND_OVER_S + 15)
RETRY_S = 5.0
"""After a failed poll; the person can still go on by hand."""
MAX_ANSWER_LENGTH = 4_000

_SEALED = "login"


@dataclass(frozen=True)
class LoginWish:
    """A login to begin: of a new account, or of one that is there."""

    platform: str
    name: str = ""
    established: bool = False
    account: Account | None = None


@dataclass(frozen=True)
class LoginReply:
    """What a person does at a step; nothing is a poll."""

    answers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    action: str = ""

    @property
    def is_poll(self) -> bool:
        return not self.answers and not self.action


_POLL = LoginReply()


@dataclass(frozen=True)
class Login:
    """A login as people see it."""

    id: UUID
    platform: str
    name: str
    step: Ask | Waiting | None
    """None once it has signed in."""
    ask_again_s: float
    expires_at: datetime
    account_id: UUID | None = None
    """The account that it has signed in."""
    woken: int = 0
    """How many of its channels are checked now."""
    problem: str = ""
    """Why the last poll failed; it is repeated."""


@dataclass(frozen=True)
class _Progress:
    """What is sealed between two steps."""

    answers: dict[str, str] = field(default_factory=dict[str, str])
    ask: Ask | None = None
    waiting: Waiting | None = None

    @property
    def step(self) -> Ask | Waiting | None:
        return self.ask or self.waiting


_PROGRESS = TypeAdapter(_Progress)


@dataclass(frozen=True)
class Logins:
    """Takes logins from their beginning to an account that is signed in."""

    links: Links
    data_dir: Path
    ids: Ids
    clock: Clock
    """Of the product; accounts are dated by it."""
    real_clock: Clock
    """Of logins, because platforms and people wait in real time."""

    @property
    def connectors(self) -> Mapping[str, Connector]:
        return self.links.connectors

    @property
    def database(self) -> Database:
        return self.links.lanes.database

    def platforms(self) -> dict[str, str]:
        """Return the platforms on which people sign in, with their titles."""
        manifests = [connector.manifest for connector in self.connectors.values()]
        titles = {one.platform: one.title for one in manifests if one.signs_in}
        return dict(sorted(titles.items(), key=lambda pair: pair[1].casefold()))

    async def begin(self, wish: LoginWish) -> Login:
        """Begin a login and take its first step."""
        self._connector(wish.platform)
        now = self.real_clock.now()
        async with self.database.transaction() as tx:
            if wish.account is None:
                await accounts.check_free(tx, platform=wish.platform, name=wish.name)
            row = LoginRow(
                id=self.ids.new(),
                platform=wish.platform,
                name=wish.name if wish.account is None else wish.account.name,
                established=wish.established,
                account_id=None if wish.account is None else wish.account.id,
                signed_in=False,
                ask_at=now,
                expires_at=now + LIFE,
            )
            await account_logins.insert_login(tx, row, now=now)
            await self._seal(tx, row.id, _Progress())
        try:
            return await self.go_on(row.id)
        except UserError:
            await self.cancel(row.id)
            raise

    async def get(self, login_id: UUID) -> Login:
        """Return where a login stands, without asking the platform."""
        async with self.database.transaction() as tx:
            row = await self._find(tx, login_id)
            return self._shown(row, await self._unseal(tx, login_id))

    async def go_on(self, login_id: UUID, reply: LoginReply = _POLL) -> Login:
        """Take the next step; a poll that comes too early, or beside another one, changes nothing."""
        claim, now = self.ids.new(), self.real_clock.now()
        async with self.database.transaction() as tx:
            row = await account_logins.claim_login(
                tx, login_id, claim=claim, poll=reply.is_poll, until=now + CLAIM, now=now
            )
            progress = await self._unseal(tx, login_id)
            if row is None:
                return await self._as_it_is(tx, login_id, progress, reply)
            known = {} if row.account_id is None else await self._secrets(tx, row.account_id)
        try:
            attempt = _attempt(row.name, known, progress, reply)
            step = await self._ask_platform(row, attempt)
        except WorkError as error:
            return await self._after_error(row, progress, reply, error, claim)
        except BaseException:
            await self._release(row, claim)
            raise
        if isinstance(step, SignedIn):
            return await self._finish(row, step, claim)
        return await self._keep(row, _Progress(dict(attempt.answers), *_by_kind(step)), reply, claim)

    async def cancel(self, login_id: UUID) -> None:
        """Give a login up."""
        async with self.database.transaction() as tx:
            await secrets.delete_secret(tx, owner=_owner(login_id), name=_SEALED)
            await account_logins.delete_login(tx, login_id)

    async def _ask_platform(self, row: LoginRow, attempt: LoginAttempt) -> LoginStep:
        async with self._used_alone(row):
            return await self._log_in(row, attempt)

    @asynccontextmanager
    async def _used_alone(self, row: LoginRow) -> AsyncGenerator[None, None]:
        """Let no other process use the account meanwhile, where its session must not be open twice."""
        async with self.database.transaction() as tx:
            account = next((one for one in await list_accounts(tx) if one.id == row.account_id), None)
        if account is None:
            yield
            return
        patience_s = accounts.IN_USE_S if account.state == "active" else accounts.HAND_OVER_S
        async with accounts.used_alone(self.links, account, patience_s=patience_s):
            yield

    async def _log_in(self, row: LoginRow, attempt: LoginAttempt) -> LoginStep:
        connector = self._connector(row.platform)
        try:
            async with asyncio.timeout(STEP_S):
                return await connector.login(attempt)
        except TimeoutError as error:
            raise Transient("the platform did not answer in time") from error
        except Exception as error:
            raise connector.classify(error) from error

    async def _as_it_is(self, tx: Tx, login_id: UUID, progress: _Progress, reply: LoginReply) -> Login:
        row = await self._find(tx, login_id)
        if not reply.is_poll and not row.signed_in:
            raise UserError(
                "The platform is still being asked about the previous step.",
                remedy="Try again in a few seconds.",
            )
        return self._shown(row, progress)

    async def _keep(self, row: LoginRow, progress: _Progress, reply: LoginReply, claim: UUID) -> Login:
        now = self.real_clock.now()
        expires_at = row.expires_at if reply.is_poll else now + LIFE
        # A question waits for a person: there is nothing to poll.
        waiting = progress.waiting
        ask_at = expires_at if waiting is None else now + timedelta(seconds=waiting.ask_again_s)
        row = replace(row, ask_at=ask_at, expires_at=expires_at)
        async with self.database.transaction() as tx:
            await self._end_step(tx, row, claim)
            await self._seal(tx, row.id, progress)
        return self._shown(row, progress)

    async def _after_error(
        self, row: LoginRow, progress: _Progress, reply: LoginReply, error: WorkError, claim: UUID
    ) -> Login:
        """Keep the step of before; what may pass by itself does not end a login that is polled."""
        if progress.ask is None:
            pause_s = error.retry_after_s if isinstance(error, RateLimited) else RETRY_S
            row = replace(row, ask_at=self.real_clock.now() + timedelta(seconds=pause_s))
        async with self.database.transaction() as tx:
            await self._end_step(tx, row, claim)
        if reply.is_poll and progress.waiting is not None and error.retryable:
            return replace(self._shown(row, progress), problem=f"The last check failed: {error}.")
        named = row.name or "The account"
        raise UserError(f"{named} could not sign in: {error}.") from error

    async def _release(self, row: LoginRow, claim: UUID) -> None:
        async with self.database.transaction() as tx:
            now = self.real_clock.now()
            await account_logins.end_step(
                tx, row.id, claim=claim, ask_at=row.ask_at, expires_at=row.expires_at, now=now
            )

    async def _finish(self, row: LoginRow, step: SignedIn, claim: UUID) -> Login:
        now, woken = self.clock.now(), 0
        async with self.database.transaction() as tx:
            account_id = row.account_id or await _find_same(tx, row, step)
            if account_id is None:
                name = row.name or step.account or row.platform
                new = NewAccount(row.platform, name, row.established, step)
                made = await accounts.add_account(tx, new, data_dir=self.data_dir, ids=self.ids, now=now)
                account_id = made.id
            else:
                woken = await accounts.sign_in(tx, account_id, step.secrets, data_dir=self.data_dir, now=now)
            if not await account_logins.end_login(tx, row.id, claim=claim, account_id=account_id):
                raise _lost()
            await secrets.delete_secret(tx, owner=_owner(row.id), name=_SEALED)
        ended = replace(row, name=row.name or step.account, account_id=account_id, signed_in=True)
        return replace(self._shown(ended, _Progress()), woken=woken)

    async def _end_step(self, tx: Tx, row: LoginRow, claim: UUID) -> None:
        now = self.real_clock.now()
        kept = await account_logins.end_step(
            tx, row.id, claim=claim, ask_at=row.ask_at, expires_at=row.expires_at, now=now
        )
        if not kept:
            raise _lost()

    async def _find(self, tx: Tx, login_id: UUID) -> LoginRow:
        row = await account_logins.get_login(tx, login_id, now=self.real_clock.now())
        if row is None:
            raise _lost()
        return row

    async def _seal(self, tx: Tx, login_id: UUID, progress: _Progress) -> None:
        vault = await secrets.open_vault(tx, self.data_dir)
        plain = _PROGRESS.dump_json(progress).decode()
        await secrets.put_secret(tx, vault, plain, owner=_owner(login_id), name=_SEALED)

    async def _unseal(self, tx: Tx, login_id: UUID) -> _Progress:
        vault = await secrets.open_vault(tx, self.data_dir)
        plain = await secrets.get_secret(tx, vault, owner=_owner(login_id), name=_SEALED)
        return _Progress() if plain is None else _PROGRESS.validate_json(plain)

    async def _secrets(self, tx: Tx, account_id: UUID) -> dict[str, str]:
        return await accounts.read_secrets(tx, account_id, data_dir=self.data_dir)

    def _shown(self, row: LoginRow, progress: _Progress) -> Login:
        return Login(
            id=row.id,
            platform=row.platform,
            name=row.name,
            step=None if row.signed_in else progress.step,
            ask_again_s=max(0.0, (row.ask_at - self.real_clock.now()).total_seconds()),
            expires_at=row.expires_at,
            account_id=row.account_id if row.signed_in else None,
        )

    def _connector(self, platform: str) -> Connector:
        connector = self.connectors.get(platform)
        if connector is None:
            known = ", ".join(sorted(self.connectors))
            raise UserError(
                f"There is no connector for the platform {platform!r} in this installation.",
                remedy=f"Available: {known}." if known else "None is installed yet; the demo has one.",
                command="" if known else "headgate demo",
                field="platform",
            )
        if not connector.manifest.signs_in:
            raise UserError(f"{connector.manifest.title} need no account.", field="platform")
        return connector


def _attempt(name: str, known: Mapping[str, str], progress: _Progress, reply: LoginReply) -> LoginAttempt:
    """Return what the connector gets; a reply that does not belong to the step is refused."""
    step = progress.step
    if reply.action and (step is None or reply.action not in {action.name for action in step.actions}):
        raise UserError("The login has moved on since.", remedy="Look at its present step.")
    answers = _check_answers(progress.ask, reply.answers) if reply.answers else {}
    return LoginAttempt(
        account=name,
        secrets=known,
        answers={**progress.answers, **answers},
        state=step.state if step else "",
        action=reply.action,
    )


def _check_answers(ask: Ask | None, given: Mapping[str, str]) -> dict[str, str]:
    names = {question.name for question in ask.questions} if ask else set[str]()
    if ask is None or set(given) - names:
        raise UserError("The login has moved on since.", remedy="Look at its present step.")
    checked: dict[str, str] = {}
    for question in ask.questions:
        answer = given.get(question.name, "")
        if not answer.strip() and not question.optional:
            raise UserError(f"{question.prompt} is missing.", field=question.name)
        if question.choices and answer not in question.choices:
            raise UserError(
                f"{question.prompt}: choose one of {', '.join(question.choices)}.", field=question.name
            )
        if len(answer) > MAX_ANSWER_LENGTH:
            raise UserError(f"{question.prompt} is too long.", field=question.name)
        checked[question.name] = answer
    return checked


def _by_kind(step: Ask | Waiting) -> tuple[Ask | None, Waiting | None]:
    return (step, None) if isinstance(step, Ask) else (None, step)


async def _find_same(tx: Tx, row: LoginRow, step: SignedIn) -> UUID | None:
    """Return the account that the platform means, if nobody gave it another name and it is here already."""
    if row.name or not step.account:
        return None
    found = await list_accounts(tx)
    return next((one.id for one in found if (one.platform, one.name) == (row.platform, step.account)), None)


def _owner(login_id: UUID) -> str:
    return f"login:{login_id}"


def _lost() -> NotFound:
    return NotFound("This login has ended, or it took too long.", remedy="Start it again.")
