"""Discord's own rules: rights, intents, ids and messages, checked against what discord.py makes of them."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connectors.discord import permissions
from headgate.connectors.discord.errors import NotUnderstood
from headgate.connectors.discord.file_links import expires_at
from headgate.connectors.discord.gateway import INTENTS
from headgate.connectors.discord.live import Continuity
from headgate.connectors.discord.messages import file_links_of, message_of
from headgate.connectors.discord.permissions import ALL, Holder, Overwrite, rights_in
from headgate.connectors.discord.sending import nonce_of
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.domain.streams.messages import Span

pytestmark = pytest.mark.once

DISCORD = Snowflakes(1_420_070_400_000)
GUILD, ME, CHANNEL = 10, 20, 30


def test_rights_and_intents_have_discords_numbers() -> None:
    flags = discord.Permissions.VALID_FLAGS
    assert flags["view_channel"] == permissions.VIEW_CHANNEL
    assert flags["send_messages"] == permissions.SEND_MESSAGES
    assert flags["read_message_history"] == permissions.READ_HISTORY
    assert flags["send_messages_in_threads"] == permissions.SEND_IN_THREADS
    assert flags["administrator"] == permissions.ADMINISTRATOR
    assert discord.Intents(guilds=True, guild_messages=True, message_content=True).value == INTENTS


def test_ids_carry_their_time() -> None:
    at = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
    lowest = DISCORD.first_at(at)
    assert lowest == discord.utils.time_snowflake(at)
    assert DISCORD.time_of(lowest) == at == discord.utils.snowflake_time(lowest)
    assert DISCORD.time_of(lowest - 1) < at
    assert DISCORD.first_at(datetime(2010, 1, 1, tzinfo=UTC)) == 0


BITS = st.integers(0, 2**50 - 1).map(lambda bits: bits & ~permissions.ADMINISTRATOR)
OVERWRITES = st.dictionaries(st.sampled_from([GUILD, 11, 12, 13, ME]), st.tuples(BITS, BITS))


@given(BITS, st.frozensets(st.sampled_from([11, 12])), OVERWRITES)
def test_rights_in_a_channel_are_those_that_discord_py_computes(
    base: int, roles: frozenset[int], overwrites: dict[int, tuple[int, int]]
) -> None:
    ours = rights_in(
        Holder(ME, GUILD, roles, base), [Overwrite(who, *bits) for who, bits in overwrites.items()]
    )
    theirs = discord.Permissions(base)
    for group in ([GUILD], [role for role in roles if role in overwrites], [ME]):
        chosen = [overwrites[who] for who in group if who in overwrites]
        allow = deny = 0
        for one in chosen:
            allow, deny = allow | one[0], deny | one[1]
        theirs.handle_overwrite(allow=allow, deny=deny)
    assert ours == theirs.value


def test_administrators_and_owners_may_do_everything() -> None:
    hidden = [Overwrite(GUILD, 0, permissions.VIEW_CHANNEL)]
    for base in (permissions.ADMINISTRATOR, ALL):
        assert rights_in(Holder(ME, GUILD, frozenset(), base), hidden) == ALL


def shape(**more: Any) -> dict[str, Any]:
    author = {"id": "5", "username": "ada", "global_name": "Ada"}
    plain = {"id": str(DISCORD.first_at(datetime(2026, 3, 1, tzinfo=UTC))), "channel_id": str(CHANNEL)}
    return {**plain, "content": "hello", "author": author, "type": 0, "attachments": [], **more}


def a_file(key: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "filename": name, "size": 7, "url": f"https://cdn.example/{key}", **more}


def test_a_message_is_told_as_it_is() -> None:
    message = message_of(shape(edited_timestamp="2026-03-02T00:00:00+00:00"), DISCORD)
    assert (message.text, message.author, message.author_key) == ("hello", "Ada", "5")
    assert message.sent_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert message.edited_at == datetime(2026, 3, 2, tzinfo=UTC)
    assert str(message.position) == message.key
    assert not message.from_bot
    assert not message.from_webhook


def test_several_files_of_one_message_are_an_album() -> None:
    pair = [a_file("1", "a.zip"), a_file("2", "b.png", content_type="image/png; q=1")]
    both = message_of(shape(attachments=pair), DISCORD)
    assert both.album == both.key
    assert [one.mime_type for one in both.attachments] == ["application/zip", "image/png"]
    assert message_of(shape(attachments=pair[:1]), DISCORD).album == ""


def test_a_forwarded_message_brings_its_text_and_files() -> None:
    inner = {"content": "from elsewhere", "attachments": [a_file("9", "far.zip")], "embeds": []}
    reference = {"type": 1, "message_id": "77", "channel_id": "78"}
    forwarded = shape(content="", message_snapshots=[{"message": inner}], message_reference=reference)
    message = message_of(forwarded, DISCORD)
    assert message.text == "from elsewhere"
    assert [one.file_name for one in message.attachments] == ["far.zip"]
    assert message.reply_to == ""
    assert file_links_of(forwarded) == {"9": "https://cdn.example/9"}


def test_replies_webhooks_bots_and_embeds_are_told_and_stickers_are_not() -> None:
    reference = {"message_id": "77", "channel_id": str(CHANNEL)}
    embeds = [
        {"url": "https://example.org/page", "image": {"url": "https://example.org/a.png"}, "video": None},
        {"url": "https://example.org/page"},
    ]
    message = message_of(
        shape(
            type=19,
            message_reference=reference,
            embeds=embeds,
            webhook_id="4",
            author={"id": "4", "username": "hook", "bot": True},
            sticker_items=[{"id": "1", "name": "wave", "format_type": 1}],
        ),
        DISCORD,
    )
    assert message.reply_to == "77"
    assert message.links == ("https://example.org/page", "https://example.org/a.png")
    assert message.from_bot
    assert message.from_webhook
    assert message.attachments == ()
    answer = shape(webhook_id="4", application_id="4")
    assert not message_of(answer, DISCORD).from_webhook


@pytest.mark.parametrize(
    "broken",
    [{"id": 5}, {"id": "x"}, {"id": None}, {"attachments": 3}, {"content": ["a"]}, {"author": "me"},
     {"edited_timestamp": "yesterday"}, {"attachments": [{"id": "1"}]}, {"id": str(2**63)}],
)  # fmt: skip
def test_what_breaks_the_documented_form_is_not_understood(broken: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstood):
        message_of(shape(**broken), DISCORD)


def test_a_nonce_fits_and_differs_by_target() -> None:
    nonces = {nonce_of(target, key) for target in ("1", "2") for key in ("a", "b" * 300)}
    assert len(nonces) == 4
    assert all(len(nonce) == 25 for nonce in nonces)
    assert nonce_of("1", "a") == nonce_of("1", "a")


def test_a_link_says_when_it_expires() -> None:
    assert expires_at("https://cdn.example/a.zip?ex=65f00000&is=1&hm=2") == datetime.fromtimestamp(
        0x65F00000, UTC
    )
    assert expires_at("https://cdn.example/a.zip") is None
    assert expires_at("https://cdn.example/a.zip?ex=soon") is None


def test_a_message_proves_what_lies_since_the_one_before_and_no_more() -> None:
    told = Continuity()
    assert told.prove("1", 50) == Span(50, 51)
    assert told.prove("1", 60) == Span(51, 61)
    assert told.prove("1", 55) == Span(55, 56)
    assert told.prove("2", 70) == Span(70, 71)
    assert told.prove("1", 70) == Span(61, 71)
    told.forget(1)
    assert told.prove("1", 80) == Span(80, 81)
    told.forget_all()
    assert told.prove("2", 90) == Span(90, 91)


def test_discord_py_reads_the_same_files_out_of_a_forward() -> None:
    inner = {"content": "far", "attachments": [a_file("9", "far.zip", proxy_url="")], "embeds": [], "type": 0}
    inner |= {"timestamp": "2026-03-01T00:00:00+00:00", "edited_timestamp": None, "flags": 0}
    inner |= {"mentions": [], "mention_roles": []}
    state = cast("Any", SimpleNamespace(http=None))
    theirs = discord.MessageSnapshot(state, cast("Any", inner))
    ours = message_of(shape(content="", message_snapshots=[{"message": inner}]), DISCORD)
    assert [one.file_name for one in ours.attachments] == [one.filename for one in theirs.attachments]
    assert ours.text == theirs.content
