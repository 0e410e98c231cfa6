"""`headgate user`: who may sign in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

import typer

from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.domain.errors import NotFound, UserError

if TYPE_CHECKING:
    from headgate.access.users import Access
    from headgate.storage.access.api_tokens import ApiTokenLine
    from headgate.storage.access.users import Role, User, UserLine

app = typer.Typer(no_args_is_help=True, help="Add, list and remove the people who may sign in.")

Result = TypeVar("Result")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]
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
    from headgate.storage.access.users import list_users

    async def read(access: Access) -> list[UserLine]:
        async with access.transaction() as tx:
            return await list_users(tx)

    people = _with_access(read)
    if as_json:
        print_json(people)
        return
    print_table(
        ["name", "role", "since", "last seen"],
        [[line.name, line.role, line.created_at, line.last_seen_at or "never"] for line in people],
        empty="No users yet: `headgate up` prints a link to create the administrator.",
    )


@app.command()
def add(name: Name, role: RoleOption = "member", password_stdin: FromStdin = False) -> None:
    """Add a user."""
    from headgate.access.users import add_user

    checked = _role(role)
    typed = _password(from_stdin=password_stdin)
    _with_access(lambda access: add_user(access, name=name, password=typed, role=checked))
    typer.echo(f"{name} can sign in now, as {checked}.")


@app.command()
def password(name: Name, password_stdin: FromStdin = False, revoke: RevokeTokens = None) -> None:
    """Set a new password and sign the user out everywhere; optionally revoke API tokens."""
    from headgate.access.users import set_password

    user, tokens = _with_access(lambda access: _user_and_tokens(access, name))
    revoke_tokens = bool(tokens) and _wants_tokens_revoked(tokens, revoke)
    typed = _password(from_stdin=password_stdin)
    _with_access(lambda access: set_password(access, user, typed, revoke_tokens=revoke_tokens))
    typer.echo(f"The password of {name} is changed, and all sign-ins ended.")
    if tokens:
        typer.echo("The API tokens are revoked." if revoke_tokens else "The API tokens still work.")


@app.command("tokens")
def list_tokens(name: Name, as_json: AsJson = False) -> None:
    """List the API tokens of a user, and when each was last used."""
    _, tokens = _with_access(lambda access: _user_and_tokens(access, name))
    if as_json:
        print_json(tokens)
        return
    print_table(
        ["name", "scope", "made", "last used", "expires"],
        [_token_row(token) for token in tokens],
        empty=f"{name} has no API tokens. They are made on the page /account.",
    )


@app.command()
def role(
    name: Name, new_role: Annotated[str, typer.Argument(metavar="ROLE", help="`admin` or `member`.")]
) -> None:
    """Change what a user may do."""
    from headgate.access.users import change_role

    checked = _role(new_role)

    async def change(access: Access) -> None:
        await change_role(access, await _find(access, name), checked)

    _with_access(change)
    typer.echo(f"{name} is {checked} now.")


@app.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Remove a user with their sign-ins and API tokens."""
    from headgate.access.users import remove_user

    confirm(f"Remove the user {name} with all sessions and API tokens?", yes=yes)

    async def delete(access: Access) -> None:
        await remove_user(access, await _find(access, name))

    _with_access(delete)
    typer.echo(f"{name} is removed.")


def _with_access(work: Callable[[Access], Awaitable[Result]]) -> Result:
    """Do the work on the database of the settings."""

    async def run() -> Result:
        from headgate.access.passwords import Passwords
        from headgate.access.users import Access
        from headgate.app.server import open_server
        from headgate.kernel.clock import RealClock
        from headgate.kernel.ids import Ids
        from headgate.kernel.randomness import Randomness
        from headgate.kernel.settings import load_settings
        from headgate.storage.database import Database
        from headgate.storage.migrate import migrate

        settings, clock = load_settings(), RealClock()
        async with open_server(settings) as url:
            await migrate(url)
            database = Database(url, clock, size=2)
            await database.open()
            try:
                return await work(Access(database.transaction, Passwords(), Ids(clock, Randomness()), clock))
            finally:
                await database.close()

    return asyncio.run(run())


async def _find(access: Access, name: str) -> User:
    from headgate.storage.access.users import get_user_by_name

    async with access.transaction() as tx:
        user = await get_user_by_name(tx, name)
    if user is None:
        raise NotFound(f"There is no user {name!r}.", command="headgate user list")
    return user


async def _user_and_tokens(access: Access, name: str) -> tuple[User, list[ApiTokenLine]]:
    from headgate.storage.access.api_tokens import list_api_tokens

    user = await _find(access, name)
    async with access.transaction() as tx:
        return user, await list_api_tokens(tx, user.id)


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
            f"The user has {count}, which a new password does not revoke.",
            remedy="Add --revoke-tokens, or --keep-tokens if they are safe.",
        )
    return typer.confirm(f"Revoke {count} as well?", default=True, err=True)


def _role(text: str) -> Role:
    if text not in {"admin", "member"}:
        raise UserError(f"There is no role {text!r}.", remedy="Use `admin` or `member`.")
    return cast("Role", text)


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    raise UserError("There is no terminal to ask for the password.", remedy="Use --password-stdin.")
