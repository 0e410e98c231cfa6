"""Channels as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import typer

from headgate.cli.channel.explain_text import breaker_in_words, found_line, frequency_of
from headgate.cli.output import print_json, print_table
from headgate.cli.phrases import count_of, moment, print_facts, read_in_words
from headgate.connectors.protocol import FoundChannel
from headgate.domain.words.fields import plain_fields
from headgate.domain.words.frequency import frequency_word
from headgate.domain.words.times import relative
from headgate.intake.channels.requests import AskedScan
from headgate.storage.channels.channel_overview import ChannelLine, NamedChannel
from headgate.storage.channels.following import Followed, FollowedKey
from headgate.storage.channels.requests import Holdings
from headgate.storage.streams.explain import Explanation, Topic

MAX_TOPICS = 20


def print_found(
    found: Sequence[FoundChannel], followed: Sequence[FollowedKey], *, account: str, as_json: bool
) -> None:
    """Print what an account sees, and what of it is followed."""
    known = {one.key: one.watched for one in followed}
    if as_json:
        print_json([{**vars(channel), "followed": channel.key in known} for channel in found])
        return
    print_table(
        ["key", "title", "parent", "topics", "followed"],
        [
            (
                channel.key,
                channel.title,
                channel.parent_title or channel.parent,
                len(channel.topics) or "",
                _followed(known, channel),
            )
            for channel in found
        ],
        empty=f"{account} sees no channels.",
        numeric=["topics"],
    )
    if found:
        typer.echo(f"Follow some with `headgate channel add {account} KEY…`, or all with --all.")


def _followed(known: dict[str, bool], channel: FoundChannel) -> str:
    if channel.key not in known:
        return "no"
    return "yes" if known[channel.key] else "by another account"


def print_followed(done: Followed, chosen: Sequence[FoundChannel], *, account: str, downloads: str) -> None:
    """Say what following has changed."""
    new = len(done.streams)
    parts = [f"{count_of(new, 'new channel is', 'new channels are')} followed" if new else ""]
    if done.stand_bys:
        parts.append(
            f"{account} is on standby for {count_of(done.stand_bys, 'channel')} that other accounts read"
        )
    if done.adopted:
        parts.append(f"{account} reads {count_of(done.adopted, 'channel')} that no account could read")
    said = "; ".join(part for part in parts if part)
    typer.echo(
        f"{said}." if said else f"All {len(chosen)} are already followed; their titles are up to date."
    )
    if downloads:
        typer.echo(f"{downloads} Change it with `headgate channel settings CHANNEL --set fetch=…`.")


def print_channels(channels: Sequence[ChannelLine], *, now: datetime) -> None:
    print_table(
        ["channel", "read", "messages", "with finds", "checked", "next check"],
        [
            (
                channel.title,
                "" if channel.progress is None else read_in_words(channel.progress),
                "" if channel.progress is None else f"{channel.progress.messages_read:,}",
                f"{channel.message_count:,}",
                frequency_word(channel.tier),
                next_check(channel, now),
            )
            for channel in channels
        ],
        empty="No channels yet: `headgate channel add ACCOUNT` lists what an account sees.",
        numeric=["read", "messages", "with finds"],
    )


def next_check(channel: ChannelLine, now: datetime) -> str:
    """Return when a channel is checked next, or why it is not."""
    if not channel.enabled:
        return "off"
    if channel.scanning:
        return "scanning"
    if channel.gone_at is not None:
        return f"not visible, noticed {relative(channel.gone_at, now)}"
    if channel.due_at is None:
        return "not planned"
    if not channel.reader:
        return "no account"
    return "now" if channel.due_at <= now else relative(channel.due_at, now)


def print_channel(
    named: NamedChannel,
    explanation: Explanation | None,
    topics: Sequence[Topic],
    *,
    below: int,
    now: datetime,
) -> None:
    typer.echo(typer.style(named.title, bold=True))
    if explanation is not None:
        typer.echo(found_line(explanation.stream))
    typer.echo()
    facts = [
        ("id", str(named.id)),
        ("platform", named.platform),
        ("key", named.key),
        ("kind", named.kind),
        ("scanning", "on" if named.message_scan_enabled else "off"),
    ]
    if named.parent_id is not None:
        facts.append(
            ("parent", named.parent_title + (f" ({named.parent_off} is off)" if named.parent_off else ""))
        )
    if below:
        facts.append(("channels below it", f"{below:,}"))
    if explanation is not None:
        facts += _stream_facts(explanation, now)
    facts += [(f"settings: {name}", str(value)) for name, value in sorted(named.settings.items())]
    print_facts(facts)
    _print_topics(topics, now=now)


def _stream_facts(explanation: Explanation, now: datetime) -> list[tuple[str, str]]:
    stream = explanation.stream
    accounts = [
        (f"{'reads' if watch.reads else 'standby'}: {watch.name}", breaker_in_words(watch, now))
        for watch in explanation.watches
    ]
    return [
        *accounts,
        ("checked", frequency_of(stream)),
        ("starts at", "the beginning" if stream.floor == 0 else str(stream.floor)),
        ("newest message", "not known yet" if stream.head is None else str(stream.head)),
        ("last scan ended", moment(stream.scanned_at, now)),
    ]


def _print_topics(topics: Sequence[Topic], *, now: datetime) -> None:
    if not topics:
        return
    typer.echo()
    print_table(
        ["topic", "key", "on", "settings", "gone"],
        [
            (
                topic.title,
                topic.key,
                topic.message_scan_enabled,
                ", ".join(sorted(topic.settings)),
                "" if topic.gone_at is None else relative(topic.gone_at, now),
            )
            for topic in topics[:MAX_TOPICS]
        ],
    )
    if len(topics) > MAX_TOPICS:
        typer.echo(f"… and {len(topics) - MAX_TOPICS:,} more; --json has them all.")


def as_document(
    named: NamedChannel, explanation: Explanation | None, topics: Sequence[Topic], *, below: int
) -> dict[str, Any]:
    return {
        **vars(named),
        "channels_below": below,
        "stream": None if explanation is None else plain_fields(explanation.stream),
        "readers": [] if explanation is None else explanation.watches,
        "topics": list(topics),
    }


def say_asked(title: str, asked: AskedScan, *, as_json: bool) -> None:
    """Say that a scan was requested, and what may keep it from starting."""
    state = "queued" if asked.new else "already running; it continues now"
    typer.echo(f"A scan of {title} is {state}.", err=as_json)
    if not asked.reader:
        typer.echo("No account reads this channel: assign one with `headgate channel add ACCOUNT`.", err=True)
    elif asked.reader_state != "active":
        typer.echo(
            f"{asked.reader}, which reads it, is not active: `headgate account login {asked.reader}`.",
            err=True,
        )


def holdings_in_words(holdings: Holdings) -> str:
    """Return what belongs to a channel, as a list of counts."""
    below = holdings.channels - 1
    parts = [
        count_of(below, "channel below it", "channels below it") if below else "",
        count_of(holdings.items, "item") if holdings.items else "",
        count_of(holdings.sightings, "file seen", "files seen") if holdings.sightings else "",
        count_of(holdings.misses, "failed item") if holdings.misses else "",
        f"the history of {count_of(holdings.scans, 'scan')}" if holdings.scans else "",
    ]
    *most, last = [part for part in parts if part] or ["nothing in it yet"]
    return f"{', '.join(most)} and {last}" if most else last
