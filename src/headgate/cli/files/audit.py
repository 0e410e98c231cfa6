"""`headgate audit`: verify what is stored."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.errors import FAILED
from headgate.cli.output import AsJson, bytes_bar, print_json
from headgate.domain.errors import UserError

if TYPE_CHECKING:
    from headgate.cli.context import CommandContext
    from headgate.ingest.storing.audit import AuditReport

_MIB = 2**20


def audit(
    *,
    rate: Annotated[
        float | None, typer.Option(min=0.1, metavar="MIB", help="Read at most this many MiB a second.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Start over.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only show the last audit.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read all stored files and verify them. Damaged files are fetched again.

    An interrupted audit continues where it stopped. Headgate may run meanwhile. Exits with 1 if files are
    damaged.
    """
    from headgate.cli.context import with_database

    if status and (restart or rate is not None):
        raise UserError("--status only shows the last audit.", remedy="Leave the other options out.")

    async def work(context: CommandContext) -> tuple[AuditReport, datetime]:
        if status:
            report = await _report(context)
        else:
            report = await _audit(context, restart=restart, bytes_per_s=rate and rate * _MIB)
        return report, context.clock.now()

    report, now = with_database(work)
    if as_json:
        print_json(report)
    else:
        _print(report, now)
    if report.damaged.blobs:
        raise typer.Exit(FAILED)


async def _report(context: CommandContext) -> AuditReport:
    from headgate.ingest.storing.audit import report_audit

    async with context.database.transaction() as tx:
        return await report_audit(tx)


async def _audit(context: CommandContext, *, restart: bool, bytes_per_s: float | None) -> AuditReport:
    from headgate.ingest.storing.audit import audit_files

    async with context.open_files() as files:
        with bytes_bar("Verifying") as show:
            return await audit_files(
                files, context.clock, restart=restart, bytes_per_s=bytes_per_s, on_progress=show
            )


def _print(report: AuditReport, now: datetime) -> None:
    from headgate.ingest.storing.audit_words import describe_audit

    words = describe_audit(report, now)
    for sentence in (words.progress, words.findings, words.remedy):
        if sentence:
            typer.echo(sentence)
