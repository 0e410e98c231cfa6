"""`headgate jobs`: list jobs; retry or discard failed ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

import typer

from headgate.cli.context import CommandContext, with_database
from headgate.cli.errors import FAILED
from headgate.cli.jobs import tables as jobs_tables
from headgate.cli.output import AsJson, Yes, confirm, print_json
from headgate.domain.errors import UserError
from headgate.jobs import letters, wake
from headgate.jobs.kinds import Kinds, Wake
from headgate.kernel.clock import RealClock
from headgate.kernel.randomness import Randomness
from headgate.storage.database import Tx
from headgate.storage.jobs import dead_letters, engine
from headgate.storage.jobs.dead_letters import DeadLetter

app = typer.Typer(no_args_is_help=True, help="List jobs; retry or discard failed ones.")

KindOption = Annotated[str | None, typer.Option("--kind", help="Only this kind.")]
LetterIds = Annotated[
    list[str] | None, typer.Argument(metavar="ID…", help="Ids of failed jobs, whole or the last 12 digits.")
]
All = Annotated[bool, typer.Option("--all", help="All open failed jobs.")]

ENDING_LENGTH = 12
_ALL_LETTERS = 1_000_000
_LIST_COMMAND = "headgate jobs list"


@app.command("list")
def list_jobs(
    *,
    kind: KindOption = None,
    queued: Annotated[bool, typer.Option("--queued", help="Queued and running jobs.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Open failed jobs.")] = False,
    completed: Annotated[bool, typer.Option("--completed", help="Recently finished jobs.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum rows of each kind.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List queued, running, failed and recently finished jobs."""
    everything = not (queued or failed or completed)

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            overview = jobs_tables.Overview(
                counts=jobs_tables.sum_up(
                    await engine.queue_depths(tx),
                    await dead_letters.count_open_by_kind(tx),
                    await engine.count_completed(tx),
                    kind=kind,
                ),
                queued=await engine.list_jobs(tx, kind=kind, limit=limit) if queued or everything else None,
                failed=await dead_letters.list_dead_letters(tx, kind=kind, limit=limit)
                if failed or everything
                else None,
                completed=await engine.list_completed(tx, kind=kind, limit=limit)
                if completed or everything
                else None,
            )
        if as_json:
            print_json(overview.as_document())
        else:
            jobs_tables.print_overview(overview, real_now=RealClock().now(), now=context.clock.now())

    with_database(look)


@app.command()
def show(
    reference: Annotated[
        str, typer.Argument(metavar="ID", help="The number of a job, or the id of a failed job.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Show a job with its log, or a failed job with its error."""

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            if (job_id := _job_number(reference)) is not None:
                job, lines = await engine.get_job(tx, job_id), await engine.list_job_log(tx, job_id)
                if job is None and not lines:
                    raise UserError(f"There is no job {job_id}.", command=_LIST_COMMAND)
                if as_json:
                    print_json({"id": job_id, "job": job, "log": lines})
                else:
                    jobs_tables.print_job(job_id, job, lines, real_now=RealClock().now())
                return
            letter = await _get_letter(tx, reference)
        if as_json:
            print_json(letter)
        else:
            jobs_tables.print_letter(letter, now=context.clock.now())

    with_database(look)


@app.command()
def retry(
    references: LetterIds = None, *, every: All = False, kind: KindOption = None, yes: Yes = False
) -> None:
    """Retry failed jobs now."""

    async def replay_all(context: CommandContext) -> None:
        chosen = await _choose(context, references, every=every, kind=kind)
        if every and chosen:
            confirm(f"Replay {_counted(chosen)}?", yes=yes)
        kinds = _kinds(context)
        await _each(
            context,
            chosen,
            "replayed",
            lambda tx, one: letters.replay(tx, kinds, one, now=context.clock.now()),
        )

    with_database(replay_all)


@app.command()
def discard(
    references: LetterIds = None, *, every: All = False, kind: KindOption = None, yes: Yes = False
) -> None:
    """Discard failed jobs; their work waits until something else triggers it."""

    async def discard_all(context: CommandContext) -> None:
        chosen = await _choose(context, references, every=every, kind=kind)
        if chosen:
            confirm(f"Discard {_counted(chosen)}? Their work stays undone.", yes=yes)
        await _each(
            context, chosen, "discarded", lambda tx, one: letters.discard(tx, one, now=context.clock.now())
        )

    with_database(discard_all)


@app.command()
def keep(
    reference: Annotated[str, typer.Argument(metavar="ID", help="The id of a failed job.")],
    *,
    kept: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep it, or allow pruning again.")] = True,
) -> None:
    """Keep a failed job forever."""

    async def mark(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            letter = await letters.keep(tx, await _find_letter(tx, reference), kept=kept)
        ending = "is kept from now on" if kept else "will be pruned in its time"
        typer.echo(f"The failed job of {letter.kind} {letter.key} {ending}.")

    with_database(mark)


@app.command()
def cancel(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of the job.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the job.")],
) -> None:
    """Cancel a queued or running job; anything it does after that is ignored.

    If its work is still due, a new job starts within seconds.
    """

    async def take_away(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            if not await wake.cancel(tx, [Wake(kind, key)]):
                raise UserError(f"There is no queued or running job {kind} {key}.", command=_LIST_COMMAND)
        typer.echo(f"The job of {kind} {key} is cancelled.")

    with_database(take_away)


def _kinds(context: CommandContext) -> Kinds:
    """Return all kinds of the product; only their rows are used here."""
    from headgate.app.connectors import load_connectors
    from headgate.app.parts import build_parts

    parts = build_parts(
        context.settings,
        context.database.url,
        context.database,
        clock=context.clock,
        randomness=Randomness(),
        connectors=load_connectors(context.settings),
    )
    return parts.kinds


def _job_number(reference: str) -> int | None:
    """Return the number if a reference is a job's; as many digits as a letter's ending has are not."""
    is_number = reference.isascii() and reference.isdigit() and len(reference) < ENDING_LENGTH
    return int(reference) if is_number else None


async def _find_letter(tx: Tx, reference: str) -> UUID:
    """Return the letter that a whole id or the ending of one names."""
    if _job_number(reference) is not None:
        raise UserError(
            f"{reference} is the number of a job; this needs the id of a failed job.", command=_LIST_COMMAND
        )
    try:
        return UUID(reference)
    except ValueError:
        found = await dead_letters.list_by_ending(tx, reference.lower())
    if len(found) != 1:
        problem = "Several failed jobs end" if found else "No failed job ends"
        raise UserError(f"{problem} with {reference!r}.", command=_LIST_COMMAND)
    return found[0]


async def _get_letter(tx: Tx, reference: str) -> DeadLetter:
    letter = await dead_letters.get_dead_letter(tx, await _find_letter(tx, reference))
    if letter is None:
        raise UserError(f"There is no failed job {reference}.", command=_LIST_COMMAND)
    return letter


async def _choose(
    context: CommandContext, references: list[str] | None, *, every: bool, kind: str | None
) -> list[DeadLetter]:
    """Return the letters that a command is about."""
    if bool(references) == every:
        raise UserError("Which failed jobs?", remedy="Give their ids, or --all (with --kind for some).")
    if kind is not None and not every:
        raise UserError("--kind works only with --all.", remedy="Give only ids, or --all --kind KIND.")
    async with context.database.transaction() as tx:
        if every:
            return await dead_letters.list_dead_letters(tx, kind=kind, limit=_ALL_LETTERS)
        return [await _get_letter(tx, reference) for reference in dict.fromkeys(references or [])]


async def _each(
    context: CommandContext, chosen: list[DeadLetter], done: str, act: Callable[[Tx, UUID], Awaitable[Any]]
) -> None:
    """Act on each letter in a transaction of its own: one that cannot be helped holds up no other."""
    refused = 0
    for letter in chosen:
        try:
            async with context.database.transaction() as tx:
                await act(tx, letter.id)
        except UserError as error:
            refused += 1
            typer.echo(f"{letter.kind} {letter.key}: {error}", err=True)
        else:
            typer.echo(f"{letter.kind} {letter.key}: {done}")
    if not chosen:
        typer.echo("There are no open failed jobs.")
    if refused:
        raise typer.Exit(FAILED)


def _counted(chosen: list[DeadLetter]) -> str:
    if len(chosen) == 1:
        return f"the failed job of {chosen[0].kind} {chosen[0].key}"
    return f"{len(chosen)} failed jobs"
