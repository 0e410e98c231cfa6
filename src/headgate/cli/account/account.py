"""`headgate account`: logins on platforms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from headgate.cli.account.login_steps import Prepared, finish_login
from headgate.cli.account.pace import pace
from headgate.cli.connectors import connector_of, open_links, open_logins
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import AccountArgument, get_account
from headgate.cli.output import AsJson, Yes, confirm, print_json, print_table
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.words.states import state_text
from headgate.domain.words.times import relative
from headgate.domain.words.waiting import holder_text
from headgate.intake.channels import accounts
from headgate.intake.channels.accounts import NewAccount
from headgate.intake.channels.logins import Login, Logins, LoginWish
from headgate.outflow.reminders.targets import name_some
from headgate.storage.channels.requests import HandedOver
from headgate.storage.lanes.account_overview import AccountLine, list_account_lines
from headgate.storage.lanes.lanes import CallsOfDay, LaneRow, list_calls, list_lanes
from headgate.storage.reminders.reminders import list_of_account

app = typer.Typer(no_args_is_help=True, help="Sign accounts in and out; see what they do.")

DAYS = 7
_WAITING = ("channel waits for its next login", "channels wait for its next login")
_ALONE = ("channel has no reader any more", "channels have no reader any more")

Answers = Annotated[
    list[str] | None,
    typer.Option("--answer", metavar="NAME=VALUE", help="Answer a login question in advance."),
]

Actions = Annotated[
    list[str] | None,
    typer.Option("--choose", metavar="NAME", help="Choose another way that a login step offers."),
]


@app.command()
def add(
    platform: Annotated[str, typer.Argument(metavar="PLATFORM", help="Platform of the account.")],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Your name for the account; default: the platform's.")
    ] = "",
    *,
    established: Annotated[
        bool, typer.Option("--established", help="An account in long use: no slow start.")
    ] = False,
    no_login: Annotated[bool, typer.Option("--no-login", help="Sign in later.")] = False,
    answer: Answers = None,
    choose: Actions = None,
) -> None:
    """Add an account and sign it in."""
    prepared = Prepared(_parse(answer), choose or [])

    async def insert(context: CommandContext) -> None:
        if no_login:
            await _add_signed_out(context, NewAccount(platform, name, established))
            return
        async with open_logins(context) as logins:
            login = await logins.begin(LoginWish(platform, name, established))
            login = await _finish(logins, login, prepared)
        typer.echo(f"{login.name} is signed in; `headgate channel add {login.name}` lists what it sees.")

    with_database(insert)


async def _add_signed_out(context: CommandContext, new: NewAccount) -> None:
    connector_of(context, new.platform)
    if not new.name:
        raise UserError("Without a login the account needs a name.", remedy="Write it after the platform.")
    async with context.database.transaction() as tx:
        await accounts.add_account(
            tx, new, data_dir=context.settings.data.dir, ids=context.ids, now=context.clock.now()
        )
    typer.echo(f"{new.name} is added; `headgate account login {new.name}` signs it in.")


async def _finish(logins: Logins, login: Login, prepared: Prepared) -> Login:
    """Take a login to its end; one that fails here is not left behind."""
    try:
        return await finish_login(logins, login, prepared)
    except UserError:
        await logins.cancel(login.id)
        raise


@app.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """List accounts with their state, pace and number of calls."""

    async def look(context: CommandContext) -> None:
        now = context.clock.now()
        async with context.database.transaction() as tx:
            lines = await list_account_lines(tx)
            lanes = await list_lanes(tx)
            calls = await list_calls(tx, days=DAYS)
        if as_json:
            print_json([_document(line, lanes, calls) for line in lines])
        else:
            _print_accounts(lines)
            _print_waiting(lines)
            _print_discovery(lines, now=now)
            _print_lanes(lines, lanes, calls)

    with_database(look)


@app.command("discover")
def discover_now(account: AccountArgument) -> None:
    """Refresh the list of an account's channels: new, renamed and vanished ones."""

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
            await accounts.list_channels_again(tx, known.id, now=context.clock.now())
        typer.echo(f"The channels of {known.name} are listed again now.")

    with_database(ask)


@app.command()
def login(account: AccountArgument, *, answer: Answers = None, choose: Actions = None) -> None:
    """Sign an account in and check its channels."""
    prepared = Prepared(_parse(answer), choose or [])

    async def sign_in(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
        async with open_logins(context) as logins:
            done = await logins.begin(LoginWish(known.platform, account=known))
            done = await _finish(logins, done, prepared)
        looked = f"; {count_of(done.woken, 'channel is', 'channels are')} checked now" if done.woken else ""
        typer.echo(f"{known.name} is signed in{looked}.")

    with_database(sign_in)


@app.command()
def logout(account: AccountArgument, *, yes: Yes = False) -> None:
    """Sign an account out; other accounts take over its channels where they can."""

    async def sign_out(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
        confirm(f"Sign {known.name} out, and forget its session?", yes=yes)
        connector_of(context, known.platform)
        async with open_links(context) as links:
            done = await accounts.log_out(
                links, known, data_dir=context.settings.data.dir, now=context.clock.now()
            )
        if done.problem:
            typer.echo(f"The platform refused the logout: {done.problem}.", err=True)
        typer.echo(f"{known.name} is signed out{_handed_over(done.handed_over, _WAITING)}.")

    with_database(sign_out)


@app.command()
def remove(account: AccountArgument, *, yes: Yes = False) -> None:
    """Remove an account; its channels and their items stay."""

    async def delete(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
            await accounts.check_removable(tx, known)
            broken = await list_of_account(tx, known.id)
        silent = f" These reminders then send nothing: {name_some(broken)}." if broken else ""
        confirm(
            f"Remove the account {known.platform}/{known.name} with its session and pace?{silent}", yes=yes
        )
        async with context.database.transaction() as tx:
            done = await accounts.remove_account(tx, known, now=context.clock.now())
        typer.echo(f"{known.name} is removed{_handed_over(done, _ALONE)}.{silent}")

    with_database(delete)


app.command()(pace)


def _handed_over(done: HandedOver, left: tuple[str, str]) -> str:
    """Return what became of its channels; `left` says it of one and of many that nobody else can read."""
    passed_on = count_of(done.passed_on, "channel is", "channels are") if done.passed_on else ""
    return (f"; {passed_on} read by others now" if passed_on else "") + (
        f"; {count_of(done.left_alone, *left)}" if done.left_alone else ""
    )


def _parse(answers: Sequence[str] | None) -> dict[str, str]:
    pairs = [answer.partition("=") for answer in answers or []]
    if wrong := [name for name, sign, _ in pairs if not sign or not name]:
        raise UserError(f"{wrong[0]!r} is not an answer.", remedy="Write --answer NAME=VALUE.")
    return {name: value for name, _, value in pairs}


def _print_accounts(lines: Sequence[AccountLine]) -> None:
    print_table(
        ["account", "platform", "state", "why", "reads", "stands by", "listening", "in use by"],
        [
            (
                account.name,
                account.platform,
                state_text(account.state),
                account.state_reason,
                account.reads,
                account.stands_by,
                "yes" if account.listening else "no",
                account.held_by,
            )
            for account in lines
        ],
        empty="There are no accounts yet: `headgate account add PLATFORM` adds one.",
        numeric=["reads", "stands by"],
    )


def _print_waiting(lines: Sequence[AccountLine]) -> None:
    for account in lines:
        if account.awaiting_holder:
            typer.echo(f"{account.name}: {holder_text(account.held_by, account.awaiting_holder)}.")


def _print_discovery(lines: Sequence[AccountLine], *, now: datetime) -> None:
    for account in lines:
        if account.discovered_at is None:
            continue
        following = "" if account.discover_at is None else f", next {relative(account.discover_at, now)}"
        failed = f"; the last try failed: {account.discover_error}" if account.discover_error else ""
        typer.echo(
            f"{account.name}: channels listed {relative(account.discovered_at, now)}{following}{failed}."
        )


def _print_lanes(lines: Sequence[AccountLine], lanes: Sequence[LaneRow], calls: Sequence[CallsOfDay]) -> None:
    rows = [_lane(account, lane, calls) for account in lines for lane in _lanes_of(account, lanes)]
    if rows:
        columns = ["account", "calls of", "a minute", "of at most", "in 24 h", "cool-down"]
        print_table(
            [*columns, f"in {DAYS} days"],
            rows,
            numeric=["a minute", "of at most", "in 24 h", f"in {DAYS} days"],
        )


def _lane(account: AccountLine, lane: LaneRow, calls: Sequence[CallsOfDay]) -> list[object]:
    counted = [one for one in calls if one.account_id == account.id and one.kind == lane.kind]
    return [
        account.name,
        lane.kind,
        f"{lane.rate:.4g}",
        f"{lane.ceiling:.4g}",
        f"{lane.used_today:,}",
        f"{lane.cool_down_s:.0f} s" if lane.cool_down_s else "",
        f"{sum(one.calls for one in counted):,}",
    ]


def _lanes_of(account: AccountLine, lanes: Sequence[LaneRow]) -> list[LaneRow]:
    return [lane for lane in lanes if lane.owner == str(account.id)]


def _document(account: AccountLine, lanes: Sequence[LaneRow], calls: Sequence[CallsOfDay]) -> dict[str, Any]:
    return {
        **vars(account),
        "lanes": [
            {
                "kind": lane.kind,
                "rate": lane.rate,
                "ceiling": lane.ceiling,
                "cool_down_s": lane.cool_down_s,
                "used_today": lane.used_today,
            }
            for lane in _lanes_of(account, lanes)
        ],
        "calls": [
            {"day": one.day.isoformat(), "kind": one.kind, "calls": one.calls}
            for one in calls
            if one.account_id == account.id
        ],
    }
