"""How a command ends: exit codes, and errors as one clear sentence and what to do.

| code | means |
|---|---|
| 0 | done |
| 1 | it could not be done, or a check failed; the sentence says why and what to do |
| 2 | the command line was not understood |
| 3 | a setting is wrong |
| 4 | the database cannot be reached |
| 70 | a fault in Headgate itself |
| 130 | interrupted (Ctrl-C) |
| 141 | whoever read the output closed it |
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import typer

from headgate.domain.errors import UserError

OK = 0
FAILED = 1
USAGE = 2
SETTINGS_WRONG = 3
DATABASE_AWAY = 4
FAULT = 70
INTERRUPTED = 130
OUTPUT_CLOSED = 141

_SETTINGS_REMEDY = (
    "Correct it there or unset it. Run `headgate config path` to see where the settings file is."
)


@contextmanager
def explained_errors(*, debug: bool) -> Generator[None, None, None]:
    """Turn whatever a command raises into a sentence on standard error and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except BrokenPipeError:
        _silence_output()
        raise typer.Exit(OUTPUT_CLOSED) from None
    except Exception as error:
        code, lines = explain(error)
        if debug:
            traceback.print_exception(error)
        _print_lines(lines)
        raise typer.Exit(code) from error


def explain(error: Exception) -> tuple[int, list[str]]:
    """Return the exit code of an error, and the lines that tell a person about it."""
    # Loaded only when something went wrong, so that commands which need neither start fast.
    from headgate.kernel.logs import mask_url
    from headgate.kernel.settings import SettingsError
    from headgate.storage.errors import Collided, is_away

    error = _innermost(error)
    if isinstance(error, UserError):
        return error.exit_code, [error.message, *filter(None, [error.terminal_remedy])]
    if isinstance(error, SettingsError):
        return SETTINGS_WRONG, [*str(error).splitlines(), _SETTINGS_REMEDY]
    if isinstance(error, Collided):
        return FAILED, [
            "Something else changed the same thing at this moment.",
            "Nothing was done: run it again.",
        ]
    reason = mask_url(_one_line(error))
    if is_away(error):
        return DATABASE_AWAY, [
            f"The database cannot be reached: {reason}.",
            "Check the server and HEADGATE_DATABASE_URL, or run `headgate doctor` to find the cause.",
        ]
    return FAULT, [
        f"Something went wrong: {type(error).__name__}: {reason}.",
        "Run again with --debug before the command to see where.",
    ]


def _innermost(error: Exception) -> Exception:
    """Return what is in a group of one, as task groups raise it."""
    if not isinstance(error, ExceptionGroup):
        return error
    group = cast("ExceptionGroup[Exception]", error)
    return _innermost(group.exceptions[0]) if len(group.exceptions) == 1 else group


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or "no reason was given"


def _print_lines(lines: list[str]) -> None:
    first, *rest = lines
    label = typer.style("Error:", fg="red", bold=True)
    typer.echo(f"{label} {first}", err=True)
    for line in rest:
        typer.echo(f"  {line}", err=True)


def _silence_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush finds no closed pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
