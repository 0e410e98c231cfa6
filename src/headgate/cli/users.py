"""`headgate user`: who may sign in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

import typer

from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.domain.errors import UserError

if TYPE_CHECKING:
    from headgate.storage.api_tokens import ApiTokenLine
    from headgate.storage.database import Tx
    from headgate.storage.users import Role, User

app = typer.Typer(no_args_is_help=True, help="Add, list and remove the people who may sign in.")

Result = TypeVar("Result")
Name = Annotated[str, typer.Argument(help="Name of the user.")]
RoleOption = Annotated[str, typer.Option("--role", help="`admin` or `member`.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
]


RevokeTokens = Annotated[
    bool | None,
    typer.Option("--revoke-tokens/--keep-tokens", help="What happens to the user's API tokens."),
]


@app.command("list")
def list_everybody(as_json: AsJson = False) -> None:
    """List the users."""
    from headgate.storage.users import list_users

    people = _with_database(list_users)
    if as_json:
        print_json(people)
        return
    print_table(
        ["name", "role", "since", "last seen"],
        [[line.name, line.role, line.created_at, line.last_seen_at or "never"] for line in people],
        empty="Nobody may sign in yet: `headgate up` prints a link that makes the administrator.",
    )


@app.command()
def add(name: Name, role: RoleOption = "member", password_stdin: FromStdin = False) -> None:
    """Add a user."""
    from headgate.kernel.clock import RealClock
    from headgate.kernel.ids import Ids
    from headgate.kernel.randomness import Randomness
    from headgate.storage.users import insert_user
    from headgate.web.passwords import Passwords

    checked = _role(role)
    password = _password(name, from_stdin=password_stdin)
    clock = RealClock()

    async def insert(tx: Tx) -> None:
        password_hash = await Passwords().hash(password)
        user = await insert_user(
            tx,
            user_id=Ids(clock, Randomness()).new(),
            name=name,
            password_hash=password_hash,
            role=checked,
            now=clock.now(),
        )
        if user is None:
            raise UserError(f"There is a user {name!r} already.", remedy="Choose another name.")

    _with_database(insert)
    typer.echo(f"{name} can sign in now, as {checked}.")


@app.command()
def password(name: Name, password_stdin: FromStdin = False, revoke: RevokeTokens = None) -> None:
    """Set a new password; all sign-ins of the user end, and if wanted their API tokens."""
    from headgate.web.accounts import set_password
    from headgate.web.passwords import Passwords

    tokens = _with_database(lambda tx: _tokens_of(tx, name))
    revoke_tokens = bool(tokens) and _wants_tokens_revoked(tokens, revoke)
    typed = _password(name, from_stdin=password_stdin)

    async def change(tx: Tx) -> None:
        user = await _find(tx, name)
        await set_password(tx, user.id, await Passwords().hash(typed), revoke_tokens=revoke_tokens)

    _with_database(change)
    typer.echo(f"The password of {name} is changed, and all sign-ins ended.")
    if tokens:
        typer.echo("The API tokens are revoked." if revoke_tokens else "The API tokens still work.")


@app.command("tokens")
def list_tokens(name: Name, as_json: AsJson = False) -> None:
    """List the API tokens of a user, and when each was last used."""
    tokens = _with_database(lambda tx: _tokens_of(tx, name))
    if as_json:
        print_json(tokens)
        return
    print_table(
        ["name", "scope", "made", "last used", "expires"],
        [_token_row(token) for token in tokens],
        empty=f"{name} has no API tokens. They are made on the page /account.",
    )


@app.command()
def role(name: Name, new_role: Annotated[str, typer.Argument(help="`admin` or `member`.")]) -> None:
    """Change what a user may do."""
    from headgate.storage.users import set_role

    checked = _role(new_role)

    async def change(tx: Tx) -> None:
        user = await _find(tx, name)
        if not await set_role(tx, user.id, checked):
            raise _last_administrator(name)

    _with_database(change)
    typer.echo(f"{name} is {checked} now.")


@app.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Remove a user with their sign-ins and API tokens."""
    from headgate.storage.users import delete_user

    confirm(f"Remove the user {name} with all sign-ins and API tokens?", yes=yes)

    async def delete(tx: Tx) -> None:
        user = await _find(tx, name)
        if not await delete_user(tx, user.id):
            raise _last_administrator(name)

    _with_database(delete)
    typer.echo(f"{name} is removed.")


def _with_database(work: Callable[[Tx], Awaitable[Result]]) -> Result:
    """Do the work in one transaction on the database of the settings."""

    async def run() -> Result:
        from headgate.app.server import open_server
        from headgate.kernel.clock import RealClock
        from headgate.kernel.settings import load_settings
        from headgate.storage.database import Database
        from headgate.storage.migrate import migrate

        settings = load_settings()
        async with open_server(settings) as url:
            await migrate(url)
            database = Database(url, RealClock(), size=2)
            await database.open()
            try:
                async with database.transaction() as tx:
                    return await work(tx)
            finally:
                await database.close()

    return asyncio.run(run())


async def _find(tx: Tx, name: str) -> User:
    from headgate.storage.users import get_user_by_name

    user = await get_user_by_name(tx, name)
    if user is None:
        raise UserError(f"There is no user {name!r}.", remedy="`headgate user list` shows them.")
    return user


async def _tokens_of(tx: Tx, name: str) -> list[ApiTokenLine]:
    from headgate.storage.api_tokens import list_api_tokens

    return await list_api_tokens(tx, (await _find(tx, name)).id)


def _token_row(token: ApiTokenLine) -> list[object]:
    scopes = ", ".join(token.scopes)
    return [token.name, scopes, token.created_at, token.last_used_at or "never", token.expires_at]


def _wants_tokens_revoked(tokens: list[ApiTokenLine], wanted: bool | None, /) -> bool:
    """Ask what to do with the tokens, unless the command says it."""
    if wanted is not None:
        return wanted
    count = f"{len(tokens)} API token" + ("" if len(tokens) == 1 else "s")
    if not sys.stdin.isatty():
        raise UserError(
            f"The user has {count}, which a new password does not end by itself.",
            remedy="Add --revoke-tokens, or --keep-tokens if nobody else can have them.",
        )
    return typer.confirm(f"Revoke {count} as well?", default=True, err=True)


def _role(text: str) -> Role:
    if text not in {"admin", "member"}:
        raise UserError(f"There is no role {text!r}.", remedy="Take `admin` or `member`.")
    return cast("Role", text)


def _password(name: str, *, from_stdin: bool) -> str:
    from headgate.web.password_rules import weakness

    if from_stdin:
        typed = sys.stdin.readline().rstrip("\n")
    elif sys.stdin.isatty():
        typed = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        raise UserError("There is no terminal to ask for the password.", remedy="Use --password-stdin.")
    if reason := weakness(typed, name=name):
        raise UserError(reason)
    return typed


def _last_administrator(name: str) -> UserError:
    return UserError(f"{name} is the last administrator.", remedy="Make somebody else one first.")
