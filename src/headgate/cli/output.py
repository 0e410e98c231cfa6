"""What commands print: one JSON document or tables on standard output, everything else on standard error."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast
from uuid import UUID

import typer

from headgate.domain.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

# What JavaScript and jq can hold; beyond it a number changes silently.
GREATEST_EXACT_INTEGER = 2**53 - 1
_IDENTIFIERS = {"id", "position"}
_WIDE_ENOUGH = 10_000


def print_json(document: object) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(to_jsonable(document), ensure_ascii=False, indent=2))


def to_jsonable(value: object, *, name: str = "") -> Any:
    """Return what JSON can hold: ISO times, and UUIDs and 64-bit identifiers as strings."""
    if isinstance(value, Enum):
        return to_jsonable(value.value, name=name)
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return str(value) if _is_identifier(name) or abs(value) > GREATEST_EXACT_INTEGER else value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID | PurePath):
        return str(value)
    return _jsonable_collection(value, name=name)


def _jsonable_collection(value: object, *, name: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_jsonable(getattr(value, field.name), name=field.name)
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return {str(key): to_jsonable(inner, name=str(key)) for key, inner in pairs.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(inner, name=name) for inner in cast("Sequence[object]", value)]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _is_identifier(name: str) -> bool:
    return name in _IDENTIFIERS or name.endswith(("_id", "_position"))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    empty: str = "",
    numeric: Sequence[str] = (),
) -> None:
    """Print rows under headings; `empty` is said instead when there are none."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(_cell(value)) for value in row] for row in rows]
    if not cells and empty:
        typer.echo(empty)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    console = console_for(sys.stdout)
    # Captured, because Rich ends the process by itself when the reader of a pipe has gone.
    with console.capture() as captured:
        if title:
            console.print(Text(title, style="bold"))
        console.print(table)
    typer.echo(captured.get(), nl=False)


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def console_for(stream: TextIO) -> Console:
    """Return a Rich console: colours only in a terminal without NO_COLOR, full width into a pipe."""
    from rich.console import Console

    return Console(file=stream, width=None if stream.isatty() else _WIDE_ENOUGH, highlight=False)


@contextmanager
def progress_bar(text: str, *, total: int) -> Generator[Callable[[int], None], None, None]:
    """Yield a function that moves a bar on standard error forward; silent without a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = console_for(sys.stderr)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def share_bar(text: str) -> Generator[Callable[[float, str], None], None, None]:
    """Yield a function that takes how much is done, from 0 to 1, and of what; silent without a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = console_for(sys.stderr)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(text, total=1)
        yield lambda part, what: progress.update(task, description=f"{text} {what}", completed=part)


@contextmanager
def bytes_bar(text: str) -> Generator[Callable[[int, int], None], None, None]:
    """Yield a function that takes how many bytes are done, and of how many; silent without a terminal."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = console_for(sys.stderr)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(text, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def working(text: str) -> Generator[None, None, None]:
    """Show on standard error that something goes on; silent without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console_for(sys.stderr).status(text):
        yield


def confirm(question: str, *, yes: bool) -> None:
    """Go on if a person agrees or did so beforehand; raise otherwise."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError(
            f"This needs a confirmation, and there is no terminal to ask on: {question}",
            remedy="Run again with --yes if you are sure.",
        )
    if not typer.confirm(question, err=True):
        raise UserError("Nothing was changed.")
