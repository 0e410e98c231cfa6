"""Sends to a real Synapse: nothing is lost, and nothing is doubled."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from matrix_stage import Stage

from headgate.connectors.protocol import Link, OutgoingFile, Part
from headgate.domain.errors import Ambiguous, Gone, Malformed, Transient, WorkError
from headgate.domain.reminders.recognition import Sought
from headgate.testing.memory import VolatileMemory

pytestmark = [pytest.mark.once, pytest.mark.long, pytest.mark.xdist_group("synapse")]

HELLO = Part("hello")


async def error_of(stage: Stage, link: Link, room: str, *, key: str, part: Part = HELLO) -> WorkError:
    """Return what a send ends with."""
    with pytest.raises(Exception) as caught:
        await link.send(room, part, key=key)
    return stage.connector.classify(caught.value)


async def test_a_repeat_from_a_new_connection_sends_nothing_new(stage: Stage) -> None:
    room = await stage.make_room()
    secrets = await stage.sign_in()
    first = await stage.connector.open("reader", secrets, VolatileMemory())
    sent = await first.send(room, Part("once"), key="repeat")
    await first.close()
    second = await stage.connector.open("reader", await stage.sign_in(secrets), VolatileMemory())
    assert (await second.send(room, Part("once"), key="repeat")).key == sent.key
    found = await second.find_sent(room, Sought(), key="repeat", since=sent.sent_at)
    assert found is not None
    assert found.key == sent.key
    # Another device is not shown the transaction id, and has to go by the content.
    stranger = await stage.open()
    assert await stranger.find_sent(room, Sought(), key="repeat", since=sent.sent_at) is None
    assert await stranger.find_sent(room, Sought("once"), key="repeat", since=sent.sent_at) == found
    await stranger.close()
    assert len(await stage.other.history(room)) == 1
    await second.close()


async def test_a_send_without_an_answer_is_ambiguous_and_its_repeat_is_safe(stage: Stage) -> None:
    room = await stage.make_room()
    link = await stage.open()
    await link.discover()
    stage.door.mute()
    assert isinstance(await error_of(stage, link, room, key="doubt"), Ambiguous)
    await stage.door.close()
    assert isinstance(await error_of(stage, link, room, key="doubt"), Transient)
    await stage.door.open()
    await link.send(room, Part("hello"), key="doubt")
    assert len(await stage.other.history(room)) == 1
    await link.close()


async def test_an_encrypted_room_takes_no_sends(stage: Stage) -> None:
    room = await stage.make_room()
    await stage.other.encrypt(room)
    link = await stage.open()
    error = await error_of(stage, link, room, key="secret")
    assert isinstance(error, Malformed)
    assert "encrypted" in str(error)
    assert await stage.other.history(room) == []
    await link.close()


async def test_a_room_that_the_account_is_not_in_is_gone(stage: Stage) -> None:
    room = await stage.other.make_room()
    link = await stage.open()
    assert isinstance(await error_of(stage, link, room, key="stranger"), Gone)
    await link.close()


async def test_a_message_is_sent_on_with_the_same_upload(stage: Stage) -> None:
    source, target = await stage.make_room(), await stage.make_room()
    key = await stage.other.post_file(source, "pack.zip", b"content", mime_type="application/zip")
    link = await stage.open()
    await link.forward(source, message_key=key, target=target, key="on")
    (posted,), (arrived,) = await stage.other.history(source), await stage.other.history(target)
    assert arrived["content"] == posted["content"]
    await stage.other.redact(source, key)
    with pytest.raises(Gone):
        await link.forward(source, message_key=key, target=target, key="on again")
    await link.close()


async def test_a_file_that_is_too_large_is_refused_before_it_is_read(stage: Stage) -> None:
    link = await stage.open()
    huge = OutgoingFile("huge.bin", "application/octet-stream", 2**40, refuse_to_read)
    with pytest.raises(Exception, match="at most") as caught:
        await link.upload(huge)
    assert isinstance(stage.connector.classify(caught.value), Malformed)
    room = await stage.make_room()
    too_long = await error_of(stage, link, room, key="long", part=Part("x" * 70_000))
    assert isinstance(too_long, Malformed)
    await link.close()


def refuse_to_read() -> AsyncIterator[bytes]:
    raise AssertionError("a file that is refused is not read")
