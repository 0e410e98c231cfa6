"""`headgate channel`: follow channels, read them, switch them on and off, remove them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from headgate.cli.channel import tables as channel_tables
from headgate.cli.channel.scan_progress import print_ended, watch_scan
from headgate.cli.channel.settings import describe_downloads, settings
from headgate.cli.connectors import open_links
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import AccountArgument, ChannelArgument, get_account, get_channel
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.cli.phrases import count_of
from headgate.domain.errors import UserError
from headgate.domain.streams.channel_settings import FetchWhat
from headgate.domain.words.fields import plain_fields
from headgate.intake.channels import requests
from headgate.intake.channels.choosing import ChannelChoice
from headgate.intake.channels.settings import switch_topic
from headgate.storage.channels.channel_overview import FIRST, list_channels
from headgate.storage.channels.requests import ScanWish, count_holdings, list_family
from headgate.storage.streams.explain import explain_stream, list_topics

app = typer.Typer(no_args_is_help=True, help="Follow channels; scan, configure and remove them.")

_ALL = 100_000

Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Messages per batch.")]
NoContinue = Annotated[bool, typer.Option("--no-auto-continue", help="Stop after one batch.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the scan to end and show its progress.")]
TopicOption = Annotated[str, typer.Option(metavar="KEY", help="Only this topic of the channel.")]
DirectionOption = Annotated[
    Literal["both", "forward", "backward"],
    typer.Option(help="Newer messages (`forward`), history (`backward`), or both."),
]


@app.command()
def add(
    account: AccountArgument,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="CHANNEL…", help="Keys or titles of channels to follow.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Follow everything that the account sees.")] = False,
    fetch: Annotated[
        FetchWhat | None, typer.Option(help="What to download from new channels; else as for all channels.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow channels that an account sees; without names, list them.

    For a channel that another account already reads, this account becomes the standby.
    """
    if keys and every:
        raise UserError("--all already includes all channels.", remedy="Name channels, or use --all.")

    async def follow(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
        async with open_links(context) as links:
            every_s = context.settings.intake.discover_every_s
            choice = ChannelChoice(links, context.database, context.ids, context.clock, every_s)
            if not keys and not every:
                visible = await choice.list_visible(known)
                channel_tables.print_found(
                    visible.channels, visible.followed, account=known.name, as_json=as_json
                )
                return
            chosen = await choice.follow(known, None if every else keys, fetch=fetch)
        done = chosen.followed
        async with context.database.transaction() as tx:
            downloads = await describe_downloads(tx, done.streams[:1])
        if as_json:
            print_json(done)
        else:
            channel_tables.print_followed(done, chosen.channels, account=known.name, downloads=downloads)

    with_database(follow)


@app.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """List followed channels and how much of each was read."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            channels = await list_channels(tx, after=FIRST, limit=_ALL)
        if as_json:
            print_json([plain_fields(channel) for channel in channels])
        else:
            channel_tables.print_channels(channels, now=context.clock.now())

    with_database(look)


@app.command()
def show(channel: ChannelArgument, *, as_json: AsJson = False) -> None:
    """Show a channel: its accounts, topics and settings. `headgate explain` shows its progress."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel, with_parents=True)
            family = await list_family(tx, named.id)
            explanation = await explain_stream(tx, named.id)
            topics = await list_topics(tx, named.id)
        below = len(family) - 1
        if as_json:
            print_json(channel_tables.as_document(named, explanation, topics, below=below))
        else:
            channel_tables.print_channel(named, explanation, topics, below=below, now=context.clock.now())

    with_database(look)


@app.command()
def scan(
    channel: ChannelArgument,
    *,
    direction: DirectionOption = "both",
    limit: Limit = 100,
    no_auto_continue: NoContinue = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Read a channel now, whatever its schedule says."""
    wish = ScanWish(direction, limit, not no_auto_continue)

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel)
            asked = await requests.ask_scan(tx, named.id, wish, ids=context.ids, now=context.clock.now())
        channel_tables.say_asked(named.title, asked, as_json=as_json)
        if wait:
            print_ended(named.title, await watch_scan(context, asked.id), as_json=as_json)
        elif as_json:
            print_json(asked)

    with_database(ask)


@app.command()
def enable(channel: ChannelArgument, *, topic: TopicOption = "") -> None:
    """Switch a channel on, or a parent with all its channels; reading continues where it stopped."""

    async def switch(context: CommandContext) -> None:
        if topic:
            await _switch_topic(context, channel, topic, enabled=True)
            return
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel, with_parents=True, with_listings=True)
            due = await requests.enable(tx, named.id, now=context.clock.now())
        if named.parent_off:
            typer.echo(f"{named.title} is on, but {named.parent_off}, which it is in, is off.")
        else:
            typer.echo(f"{named.title} is on; {count_of(due, 'channel is', 'channels are')} checked now.")

    with_database(switch)


@app.command()
def disable(channel: ChannelArgument, *, topic: TopicOption = "") -> None:
    """Switch a channel off, or a parent with all its channels; what was read stays read."""

    async def switch(context: CommandContext) -> None:
        if topic:
            await _switch_topic(context, channel, topic, enabled=False)
            return
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel, with_parents=True, with_listings=True)
            ended = await requests.disable(tx, named.id, now=context.clock.now())
        stopped = f"; {count_of(ended, 'scan')} cancelled, what was read stays" if ended else ""
        typer.echo(f"{named.title} is off{stopped}.")

    with_database(switch)


async def _switch_topic(context: CommandContext, channel: str, topic: str, *, enabled: bool) -> None:
    async with context.database.transaction() as tx:
        named = await get_channel(tx, channel)
        await switch_topic(tx, named.id, topic, enabled=enabled, now=context.clock.now())
    becomes = "judged by its settings" if enabled else "kept as rejected"
    typer.echo(f"The topic {topic} is {'on' if enabled else 'off'}: what is seen in it is {becomes}.")


app.command()(settings)


@app.command()
def rescan(
    channel: ChannelArgument,
    *,
    reset: Annotated[
        bool, typer.Option("--reset", help="Forget what was read, and read the platform again.")
    ] = False,
    limit: Limit = 100,
    wait: Wait = False,
    yes: Yes = False,
) -> None:
    """Apply the current settings to everything already read; with --reset, read it all again.

    Without --reset this makes no call to the platform. Nothing that a person added is lost.
    """
    if wait and not reset:
        raise UserError("--wait works only with --reset.", command="headgate explain")

    async def ask(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel, with_parents=not reset)
        if not reset:
            async with context.database.transaction() as tx:
                await requests.judge_again(tx, named.id, now=context.clock.now())
            typer.echo(f"What was seen in {named.title} is judged again, as far as it was by other settings.")
            return
        confirm(
            f"Forget how far {named.title} was read, and read all of it again? What was caught stays.",
            yes=yes,
        )
        async with context.database.transaction() as tx:
            wish = ScanWish(page_limit=limit)
            asked = await requests.reset_scan(tx, named.id, wish, ids=context.ids, now=context.clock.now())
        channel_tables.say_asked(named.title, asked, as_json=False)
        if wait:
            print_ended(named.title, await watch_scan(context, asked.id), as_json=False)

    with_database(ask)


@app.command()
def remove(channel: ChannelArgument, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop following a channel, and delete its items."""

    async def delete(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            named = await get_channel(tx, channel, with_parents=True)
            holdings = await count_holdings(tx, await list_family(tx, named.id))
        confirm(f"Remove {named.title} with {channel_tables.holdings_in_words(holdings)}?", yes=yes)
        async with context.database.transaction() as tx:
            gone = await requests.remove_channel(tx, named.id, now=context.clock.now())
        if as_json:
            print_json(plain_fields(gone))
        else:
            typer.echo(f"{named.title} is removed, with {channel_tables.holdings_in_words(gone)}.")

    with_database(delete)
