"""`headgate doctor`: what is wrong, and how to fix it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from headgate.app.checks import Check

_SIGNS = {"ok": "✓", "warn": "!", "fail": "✗", "skip": "–"}


def doctor(*, as_json: AsJson = False) -> None:
    """Check settings, disk, database, jobs and accounts, and say how to fix problems.

    Exits with 1 if a check fails. Changes nothing; Headgate need not be running.
    """
    checks = _examine()
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": checks})
    else:
        _print(checks)
    if failed:
        raise typer.Exit(FAILED)


def _examine() -> Sequence[Check]:
    from headgate.app.checks import Check
    from headgate.app.examination import examine
    from headgate.kernel.clock import RealClock
    from headgate.kernel.settings import SettingsError, load_settings

    try:
        settings = load_settings()
    except SettingsError as error:
        remedy = "Correct it there or unset it. Run `headgate config path` to see where the settings file is."
        return [Check("settings", "fail", line, remedy) for line in str(error).splitlines()]
    return asyncio.run(examine(settings, RealClock()))


def _print(checks: Sequence[Check]) -> None:
    rows = [
        (f"{_SIGNS[check.status]} {check.status}", check.name, f"{check.message}\n→ {check.remedy}")
        if check.remedy
        else (f"{_SIGNS[check.status]} {check.status}", check.name, check.message)
        for check in checks
    ]
    print_table(["", "check", "finding"], rows)
