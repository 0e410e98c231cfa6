"""`headgate explain`: what was read of a channel, what was not, and why."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any
from uuid import UUID

import typer

from headgate.cli.channel.explain_text import BAR_WIDTH, print_explanation
from headgate.cli.context import CommandContext, with_database
from headgate.cli.lookup.channels import get_channel
from headgate.cli.lookup.series import find_named_series
from headgate.cli.output import AsJson, print_json
from headgate.cli.series import listing_text
from headgate.domain.errors import UserError
from headgate.domain.streams.coverage_bar import draw_bar
from headgate.domain.streams.messages import Span
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.reasons import stream_reason_text
from headgate.storage.channels.channel_overview import find_channels
from headgate.storage.database import Tx
from headgate.storage.listings.listing_overview import get_listing_states, list_tier_changes
from headgate.storage.listings.listings import list_sources
from headgate.storage.listings.series import list_series_sources
from headgate.storage.streams.explain import Explanation, LensCoverage, ScanLine, explain_stream

ExplainedArgument = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="Id, title or key of a channel, a feed or a series.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Also show how Headgate decides.")]


def explain(channel: ExplainedArgument, *, verbose: Verbose = False, as_json: AsJson = False) -> None:
    """Explain a channel: what was read, what is missing, and when it is checked next.

    For a feed or a series: how often its sources are checked and why, and whether they answer.
    """

    async def show(context: CommandContext) -> None:
        async with context.database.transaction() as tx:
            listings = await _find_listings(tx, channel)
        if listings:
            await _explain_listings(context, listings, verbose=verbose, as_json=as_json)
        else:
            await _explain_stream(context, channel, verbose=verbose, as_json=as_json)

    with_database(show)


async def _find_listings(tx: Tx, reference: str) -> list[UUID]:
    """Return the sources of a series, or the listing, that is meant; nothing if a stream is, or nothing."""
    channels = await find_channels(tx, reference)
    if any(one.kind != "listing" for one in channels):
        return []
    if found := await find_named_series(tx, reference):
        return [source.channel_id for source in await list_series_sources(tx, found.id)]
    return [(await get_channel(tx, reference, with_listings=True)).id] if channels else []


async def _explain_listings(
    context: CommandContext, channel_ids: list[UUID], *, verbose: bool, as_json: bool
) -> None:
    now = context.clock.now()
    async with context.database.transaction() as tx:
        states = await get_listing_states(tx, channel_ids)
        sources = await list_sources(tx, channel_ids)
        changes = {one: await list_tier_changes(tx, one) for one in channel_ids}
    if as_json:
        print_json(
            [
                {
                    **listing_text.as_document(one, now),
                    "series": sources[one.channel_id],
                    "frequency_changes": [plain_fields(change) for change in changes[one.channel_id]],
                }
                for one in states
            ]
        )
        return
    for number, one in enumerate(states):
        if number:
            typer.echo()
        listing_text.print_listing(
            one, sources[one.channel_id], changes[one.channel_id], now, verbose=verbose
        )


async def _explain_stream(context: CommandContext, channel: str, *, verbose: bool, as_json: bool) -> None:
    async with context.database.transaction() as tx:
        named = await get_channel(tx, channel)
        explanation = await explain_stream(tx, named.id)
    if explanation is None:
        raise UserError(
            f"{named.title} has no messages of its own.",
            command="headgate channel list",
        )
    if as_json:
        print_json(as_document(explanation))
    else:
        print_explanation(explanation, now=context.clock.now(), verbose=verbose)


def as_document(explanation: Explanation) -> dict[str, Any]:
    """Return everything as one document; positions and ids are strings in it."""
    stream = explanation.stream
    document = {
        **{field.name: getattr(stream, field.name) for field in fields(stream)},
        "enabled": stream.enabled,
        "progress": explanation.progress,
        "coverage": [_coverage(explanation, one) for one in explanation.coverage],
        "holes": explanation.holes,
        "miss_counts": explanation.miss_counts,
        "misses": explanation.misses,
        "watches": explanation.watches,
        "failed_jobs": explanation.failed_jobs,
        "judging": explanation.judging,
        "decisions": [
            {**vars(decision), "in_words": stream_reason_text(decision.reason)}
            for decision in explanation.decisions
        ],
        "scans": [_scan(scan) for scan in explanation.scans],
        "topics": explanation.topics,
    }
    return plain_fields(document)


def _coverage(explanation: Explanation, one: LensCoverage) -> dict[str, Any]:
    stream = explanation.stream
    bar = draw_bar(
        one.spans,
        floor=stream.floor,
        head=stream.head,
        first_seen=stream.first_seen_position,
        width=BAR_WIDTH,
    )
    return {
        "lens": one.lens,
        "wanted": one.wanted,
        "epoch": one.epoch,
        "newest_read_position": one.forward_message_id,
        "oldest_read_position": one.backward_message_id,
        "complete": bar is not None and bar.complete,
        "ranges": _ranges(one.spans),
    }


def _scan(scan: ScanLine) -> dict[str, Any]:
    shown = {name: value for name, value in vars(scan).items() if name not in {"starts", "ends"}}
    return {**shown, "ranges": _ranges(scan.spans), "duration_s": scan.duration_s}


def _ranges(spans: list[Span]) -> list[dict[str, int]]:
    """Return ranges with both ends included, as the forward and backward ids are."""
    return [{"first_position": span.start, "last_position": span.end - 1} for span in spans]
