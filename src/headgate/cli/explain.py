"""`headgate explain`: what was read of a channel, what was not, and why."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from headgate.cli.desk import Desk, at_desk
from headgate.cli.explain_text import BAR_WIDTH, print_explanation
from headgate.cli.naming import ChannelArgument, get_channel
from headgate.cli.output import AsJson, print_json
from headgate.cli.phrases import reason_in_words
from headgate.domain.coverage_bar import draw_bar
from headgate.domain.errors import UserError
from headgate.domain.messages import Span
from headgate.storage.explain import Explanation, LensCoverage, ScanLine, explain_stream


def explain(channel: ChannelArgument, *, as_json: AsJson = False) -> None:
    """Explain a channel: what was read, what is missing, when it is looked at next, and why."""

    async def look(desk: Desk) -> None:
        async with desk.database.transaction() as tx:
            named = await get_channel(tx, channel)
            explanation = await explain_stream(tx, named.id)
        if explanation is None:
            raise UserError(
                f"{named.title} has no messages of its own.",
                remedy="`headgate channel list` shows the channels.",
            )
        if as_json:
            print_json(as_document(explanation))
        else:
            print_explanation(explanation, now=desk.clock.now())

    at_desk(look)


def as_document(explanation: Explanation) -> dict[str, Any]:
    """Return everything as one document; positions and ids are strings in it."""
    stream = explanation.stream
    return {
        **{field.name: getattr(stream, field.name) for field in fields(stream)},
        "enabled": stream.enabled,
        "coverage": [_coverage(explanation, one) for one in explanation.coverage],
        "holes": explanation.holes,
        "miss_counts": explanation.miss_counts,
        "misses": explanation.misses,
        "watches": explanation.watches,
        "judging": explanation.judging,
        "decisions": [
            {**vars(decision), "in_words": reason_in_words(decision.reason)}
            for decision in explanation.decisions
        ],
        "scans": [_scan(scan) for scan in explanation.scans],
        "topics": explanation.topics,
    }


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
        "forward_message_id": one.forward_message_id,
        "backward_message_id": one.backward_message_id,
        "covered_share": None if bar is None else bar.share,
        "complete": bar is not None and bar.complete,
        "ranges": _ranges(one.spans),
    }


def _scan(scan: ScanLine) -> dict[str, Any]:
    shown = {name: value for name, value in vars(scan).items() if name not in {"starts", "ends"}}
    return {**shown, "ranges": _ranges(scan.spans), "duration_s": scan.duration_s}


def _ranges(spans: list[Span]) -> list[dict[str, int]]:
    """Return ranges with both ends included, as the forward and backward ids are."""
    return [{"first_position": span.start, "last_position": span.end - 1} for span in spans]
