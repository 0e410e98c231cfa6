"""`headgate account pace`: how fast an account sends, why, and changing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer

from headgate.cli.connectors import plans_of
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import AccountArgument, get_account
from headgate.cli.output import AsJson, print_json, print_table
from headgate.cli.phrases import print_facts
from headgate.domain.errors import UserError
from headgate.domain.words.reasons import PACE_CAUSES
from headgate.domain.words.times import duration
from headgate.outflow.sending.pace import PaceWish, SendingPace, change_pace, get_pace
from headgate.storage.lanes.lanes import LaneRow

Word = TypeVar("Word", bound=str)


def pace(
    account: AccountArgument,
    *,
    per_minute: Annotated[float | None, typer.Option(metavar="N", help="Maximum messages a minute.")] = None,
    burst: Annotated[int | None, typer.Option(metavar="N", help="Extra messages in a burst.")] = None,
    daily_cap: Annotated[
        str | None, typer.Option(metavar="N|none", help="Maximum messages in 24 hours.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="N|default", help="Groups to send to in parallel.")
    ] = None,
    established: Annotated[
        bool | None,
        typer.Option(
            "--established/--slow-start", help="In long use, or new: then its pace grows day by day."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how fast an account sends, why, and how that changed; or set it."""
    wish = PaceWish(
        per_minute=per_minute,
        burst=burst,
        daily_cap=_number_or(daily_cap, "none", option="--daily-cap"),
        groups=_number_or(groups, "default", option="--groups"),
        established=established,
    )

    async def look(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            known = await get_account(tx, account)
            await change_pace(
                tx, known, wish, lambda platform: plans_of(context, platform), now=context.clock.now()
            )
            shown = await get_pace(tx, known, lambda platform: plans_of(context, platform))
        if as_json:
            print_json(_document(shown, context))
        else:
            _print(shown, context)

    with_database(look)


def _number_or(typed: str | None, word: Word, *, option: str) -> int | Word | None:
    if typed is None:
        return None
    if typed.lower() == word:
        return word
    if not typed.isdecimal():
        raise UserError(f"{option} takes a number or `{word}`, not {typed!r}.")
    return int(typed)


def _document(shown: SendingPace, context: CommandContext) -> dict[str, Any]:
    return {
        **vars(shown),
        "lane": None if shown.lane is None else asdict(shown.lane),
        "changes": list(shown.changes),
        "groups_at_once": shown.group_concurrency or context.settings.outflow.group_concurrency,
    }


def _print(shown: SendingPace, context: CommandContext) -> None:
    print_facts(
        [("account", shown.account_name), *_facts(shown), ("groups at once", _groups(shown, context))]
    )
    if shown.changes:
        typer.echo()
        print_table(
            ["when", "from", "to", "why", "cool-down until"],
            [
                (
                    _moment(change.at),
                    f"{change.from_rate:.4g}",
                    f"{change.to_rate:.4g}",
                    PACE_CAUSES[change.cause],
                    "" if change.cool_until is None else _moment(change.cool_until),
                )
                for change in shown.changes
            ],
            numeric=["from", "to"],
        )


def _facts(shown: SendingPace) -> Iterator[tuple[str, str]]:
    lane = shown.lane
    if lane is None or shown.rate is None:
        most = "" if shown.plan is None else f"; begins with at most {shown.plan.per_minute:.4g} a minute"
        yield "pace", f"not sent yet{most}"
        return
    yield "pace", f"{shown.rate:.4g} messages a minute, of at most {lane.ceiling:.4g}"
    yield "why", _why(lane, shown.rate)
    if not lane.established and shown.rate < lane.ceiling:
        yield "warm-up", f"{lane.warm_days} quiet days so far; each adds a quarter of the most"
    yield "burst", f"{lane.burst}"
    cap = "no daily cap" if lane.daily_cap is None else f"of at most {lane.daily_cap:,}"
    yield "in the last 24 hours", f"{lane.used_today:,} messages, {cap}"
    if lane.cool_down_s:
        yield "cool-down", f"nothing is sent for {duration(lane.cool_down_s)}: the platform asked for it"
    yield "set by", "a person" if lane.pinned else "the settings and the connector"
    if lane.shared:
        yield "shared with", f"other calls, under {lane.shared.removeprefix('budget:')}"


def _why(lane: LaneRow, rate: float) -> str:
    cause = "recovered" if rate > lane.rate and lane.rate_cause == "limit_signal" else lane.rate_cause
    return f"{PACE_CAUSES[cause]}, since {_moment(lane.rate_at)}"


def _groups(shown: SendingPace, context: CommandContext) -> str:
    if shown.group_concurrency is None:
        return f"{context.settings.outflow.group_concurrency} (the deployment's number)"
    return str(shown.group_concurrency)


def _moment(at: datetime) -> str:
    """Return a time of the lanes, which are in real time also where the product's is quick."""
    return f"{at:%Y-%m-%d %H:%M:%S}"
