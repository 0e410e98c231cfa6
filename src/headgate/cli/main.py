"""The command `headgate`: global options, and a table of commands that are loaded when asked for."""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from headgate import __version__
from headgate.cli.errors import explained_errors
from headgate.cli.help import install_plain_types


@dataclass(frozen=True)
class Command:
    """A command of the table: where it is, and what `headgate --help` says of it."""

    target: str
    """`module:attribute`; a function is one command, a Typer app a group of them."""
    text: str
    panel: str


RUN = "Run"
FOLLOW = "Follow"
TELL = "Notify"
SEND = "Send"
LOOK_AFTER = "Maintain"
MEASURE = "Measure and try"

COMMANDS = {
    "up": Command("headgate.cli.up:up", "Run everything in one process.", RUN),
    "demo": Command("headgate.dev.demo:demo", "Try Headgate with a simulated world, in fast motion.", RUN),
    "worker": Command("headgate.cli.up:worker", "Run only a worker; any number, on any machine.", RUN),
    "web": Command("headgate.cli.up:web", "Run only the web server.", RUN),
    "account": Command("headgate.cli.account.account:app", "Add accounts; sign them in and out.", FOLLOW),
    "channel": Command(
        "headgate.cli.channel.channel:app", "Follow channels; scan and configure them.", FOLLOW
    ),
    "import": Command(
        "headgate.cli.files.importing:import_folder", "Import a folder of files, or its new files.", FOLLOW
    ),
    "explain": Command(
        "headgate.cli.channel.explain:explain", "Explain the state of a channel or series.", FOLLOW
    ),
    "library": Command("headgate.cli.library.library:app", "List and show what was found.", FOLLOW),
    "label": Command(
        "headgate.cli.library.label:app", "List creators and tags; rename and merge them.", FOLLOW
    ),
    "label-rule": Command(
        "headgate.cli.library.label_rules:app", "Edit the rules that read creators and tags.", FOLLOW
    ),
    "series": Command("headgate.cli.series.series:app", "Follow series from one or more sources.", FOLLOW),
    "feed": Command(
        "headgate.cli.series.feed:app", "Follow feeds (RSS, Atom, JSON); import and export OPML.", FOLLOW
    ),
    "hosts": Command(
        "headgate.cli.series.hosts:app", "List the sites of feeds and series, and set their pace.", FOLLOW
    ),
    "follow": Command("headgate.cli.notifications.follow:app", "Choose what a user is notified of.", TELL),
    "notifications": Command(
        "headgate.cli.notifications.notifications:app", "List notifications; set quiet hours.", TELL
    ),
    "push": Command("headgate.cli.notifications.push:app", "Set where notifications are sent.", TELL),
    "target": Command(
        "headgate.cli.reminder.targets:app", "Find groups to send to; keep them in lists.", SEND
    ),
    "reminder": Command(
        "headgate.cli.reminder.reminder:app", "Schedule messages to groups, at a safe pace.", SEND
    ),
    "run": Command("headgate.cli.run.run:app", "Show, pause, cancel and retry sends.", SEND),
    "doctor": Command("headgate.cli.doctor:doctor", "Find problems and how to fix them.", LOOK_AFTER),
    "config": Command("headgate.cli.config:app", "Show the settings and where they come from.", LOOK_AFTER),
    "audit": Command(
        "headgate.cli.files.audit:audit", "Verify stored files; fetch damaged ones again.", LOOK_AFTER
    ),
    "backup": Command(
        "headgate.cli.files.backups:backup", "Back up everything, database and files.", LOOK_AFTER
    ),
    "restore": Command("headgate.cli.files.backups:restore", "Restore a backup of everything.", LOOK_AFTER),
    "db": Command("headgate.cli.db:app", "Migrate, back up and restore the database.", LOOK_AFTER),
    "jobs": Command("headgate.cli.jobs.jobs:app", "List jobs; retry or discard failed ones.", LOOK_AFTER),
    "failed": Command("headgate.cli.channel.failed_items:app", "List and retry failed items.", LOOK_AFTER),
    "user": Command("headgate.cli.users:app", "Add, list and remove users.", LOOK_AFTER),
    "bench": Command("headgate.dev.bench:app", "Run benchmarks.", MEASURE),
    "connector": Command("headgate.dev.scaffold:app", "Write a connector to another platform.", MEASURE),
    "sim": Command("headgate.dev.sim:sim", "Run the simulator with seeded faults.", MEASURE),
}


class LazyGroup(TyperGroup):
    """Lists the table's commands without loading them, and explains what they raise."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, placeholder, rest = super().resolve_command(ctx, args)
        return name, placeholder and load_command(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        with explained_errors(debug=ctx.params["debug"]):
            return super().invoke(ctx)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Follows channels, keeps everything in them exactly once, and sends messages at a safe pace.",
)


@functools.cache
def load_command(name: str) -> Any:
    """Import a command of the table and return it ready to be invoked."""
    module, _, attribute = COMMANDS[name].target.partition(":")
    target = getattr(importlib.import_module(module), attribute)
    if isinstance(target, typer.Typer):
        return get_group(target)
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name)(target)
    return get_command(single)


def _list_commands() -> None:
    """Put a placeholder for each command into the app; `LazyGroup` puts the real one in its place."""
    for name, entry in COMMANDS.items():

        def placeholder() -> None: ...

        app.command(name, help=entry.text, rich_help_panel=entry.panel)(placeholder)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def headgate(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the database and the files (HEADGATE_DATA_DIR).")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings file (HEADGATE_CONFIG); it must exist.", exists=True)
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    del debug, version  # Seen by LazyGroup and by the eager callback.
    # As variables, so that processes which a command starts have them too.
    if data_dir is not None:
        os.environ["HEADGATE_DATA_DIR"] = str(data_dir.expanduser().absolute())
    if config is not None:
        os.environ["HEADGATE_CONFIG"] = str(config.absolute())
    _start_logs()


def _start_logs() -> None:
    """Log as the settings say; if they are wrong, the command that needs them says so."""
    from headgate.kernel.logs import configure_logs
    from headgate.kernel.settings import LogSettings, SettingsError, load_settings

    try:
        log = load_settings().log
    except SettingsError:
        log = LogSettings()
    configure_logs(level=log.level, log_format=log.format)


def run() -> None:
    """Start the console script."""
    app(prog_name="headgate")


install_plain_types()
_list_commands()
