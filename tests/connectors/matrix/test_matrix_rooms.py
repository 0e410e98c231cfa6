"""Signing in to a real Synapse, and the rooms that an account sees there."""

from __future__ import annotations

import asyncio

import pytest
from matrix_stage import Stage

from headgate.connectors.login_steps import Ask, LoginAttempt
from headgate.connectors.matrix import MatrixConnector
from headgate.connectors.protocol import FoundChannel, Link, Part
from headgate.domain.errors import AuthFailed, Restricted
from headgate.domain.streams.messages import Head, LiveEvent, Span
from headgate.kernel.clock import RealClock
from headgate.kernel.connector_settings import MatrixSettings
from headgate.testing.memory import VolatileMemory

pytestmark = [pytest.mark.once, pytest.mark.long, pytest.mark.xdist_group("synapse")]


async def streams_of(link: Link) -> dict[str, FoundChannel]:
    return {channel.title: channel for channel in await link.discover() if channel.kind == "stream"}


async def hear(link: Link, count: int) -> list[LiveEvent]:
    """Return the next live events."""
    events: list[LiveEvent] = []
    async with asyncio.timeout(20):
        async for event in link.listen():
            events.append(event)
            if len(events) == count:
                break
    return events


async def asked_by(connector: MatrixConnector, *, action: str = "") -> list[str]:
    step = await connector.login(LoginAttempt(action=action))
    assert isinstance(step, Ask)
    return [question.name for question in step.questions]


async def test_the_homeserver_is_asked_for_unless_a_setting_names_it(stage: Stage) -> None:
    connector = MatrixConnector(MatrixSettings(), RealClock())
    wishes = ["rooms", "invitations"]
    assert await asked_by(connector) == ["homeserver", "user", "password", *wishes]
    assert await asked_by(stage.connector) == ["user", "password", *wishes]
    assert await asked_by(stage.connector, action="token") == ["token", *wishes]


async def test_a_token_signs_in_as_its_owner(stage: Stage) -> None:
    secrets = await stage.sign_in(method="token", token=stage.account.token)
    assert secrets["user_id"] == stage.account.user_id
    assert secrets["device_id"]
    assert "password" not in secrets
    with pytest.raises(Exception, match="M_UNKNOWN_TOKEN") as caught:
        await stage.sign_in(method="token", token="wrong")
    assert isinstance(stage.connector.classify(caught.value), AuthFailed)


async def test_a_second_sign_in_keeps_the_device(stage: Stage) -> None:
    first = await stage.sign_in()
    again = await stage.sign_in(first)
    assert again["device_id"] == first["device_id"]
    assert again["access_token"] != first["access_token"]
    assert (await stage.sign_in())["device_id"] != first["device_id"]


async def test_a_deactivated_account_must_sign_in_again_and_cannot(stage: Stage) -> None:
    """Synapse tells nobody but the owner of the password that an account is deactivated."""
    link = await stage.open()
    await stage.account.deactivate()
    for call in (link.discover, stage.sign_in):
        with pytest.raises(Exception, match=r"M_UNKNOWN_TOKEN|M_FORBIDDEN") as caught:
            await call()
        assert isinstance(stage.connector.classify(caught.value), AuthFailed)
    await link.close()


async def test_a_suspended_account_is_restricted(stage: Stage) -> None:
    room = await stage.make_room()
    link = await stage.open()
    await stage.other.suspend(stage.account)
    with pytest.raises(Exception, match="M_USER_SUSPENDED") as caught:
        await link.send(room, Part("hello"), key="suspended")
    assert isinstance(stage.connector.classify(caught.value), Restricted)
    await link.close()


async def test_rooms_have_names_and_stand_under_their_spaces(stage: Stage) -> None:
    ducks, nameless = await stage.make_room("ducks"), await stage.make_room()
    left = await stage.make_room("left")
    space = await stage.other.make_space(stage.account, name="birds", rooms=[ducks, left])
    await stage.other.set_state(space, "m.space.child", {}, key=left)
    link = await stage.open()
    found = await streams_of(link)
    assert found["ducks"].key == ducks
    assert (found["ducks"].parent, found["ducks"].parent_title) == (space, "birds")
    assert found["left"].parent == ""
    assert found[stage.other.user_id].key == nameless
    assert "birds" not in found
    await stage.other.set_state(ducks, "m.room.name", {"name": "geese"})
    assert (await streams_of(link))["geese"].key == ducks
    await link.close()


async def test_heads_are_those_of_now(stage: Stage) -> None:
    room = await stage.make_room()
    link = await stage.open()
    for text in ("first", "second"):
        key = await stage.other.post(room, text)
        assert (await link.heads([room]))[room].key == key
    await link.close()


async def test_an_encrypted_room_is_shown_as_such_and_not_read(stage: Stage) -> None:
    room = await stage.make_room("secret")
    await stage.other.post(room, "before")
    await stage.other.encrypt(room)
    await stage.other.post(room, "after")
    link = await stage.open()
    assert await link.heads([room]) == {room: Head(None)}
    page = await link.read(room, lens="everything", hole=Span(0, 9), bound=9, bookmark="", limit=10)
    assert (page.messages, page.exhausted) == ((), True)
    found = [(channel.title, channel.kind) for channel in await link.discover()]
    assert found == [("secret (encrypted)", "stream")]
    await link.close()


async def test_invitations_are_accepted_by_choice(stage: Stage) -> None:
    room = await stage.other.make_room(name="party", invite=[stage.account.user_id])
    careful, open_minded = await stage.open(), await stage.open(invitations="yes")
    assert await streams_of(careful) == {}
    assert (await streams_of(open_minded))["party"].key == room
    await careful.close()
    await open_minded.close()


async def test_an_invitation_is_accepted_while_listening(stage: Stage) -> None:
    link = await stage.open(invitations="yes")
    hearing = asyncio.create_task(hear(link, 3))
    room = await stage.other.make_room(name="party", invite=[stage.account.user_id])
    assert ("gap", room) in {(event.kind, event.stream) for event in await hearing}
    await link.close()


async def test_a_room_is_joined_by_its_address_once(stage: Stage) -> None:
    alias = f"hall-{stage.other.name}"
    room = await stage.other.make_room(name="hall", room_alias_name=alias, preset="public_chat")
    memory = VolatileMemory()
    link = await stage.open(memory, rooms=f"#{alias}:localhost #nowhere:localhost")
    assert (await streams_of(link))["hall"].key == room
    await stage.account.ask("POST", f"rooms/{room}/leave", {})
    assert await streams_of(link) == {}
    await link.close()


async def test_replies_threads_edits_and_redactions_are_read(stage: Stage) -> None:
    room = await stage.make_room()
    root = await stage.other.post(room, "first")
    answer = await stage.other.post(
        room, "> <@x> first\n\nsecond", **{"m.relates_to": {"m.in_reply_to": {"event_id": root}}}
    )
    threaded = await stage.other.post(
        room,
        "third",
        **{
            "m.relates_to": {
                "rel_type": "m.thread",
                "event_id": root,
                "is_falling_back": True,
                "m.in_reply_to": {"event_id": answer},
            }
        },
    )
    gone = await stage.other.post(room, "fourth")
    await stage.other.edit(room, threaded, "third, see https://example.org/x")
    await stage.other.redact(room, gone)
    link = await stage.open()
    page = await link.read(room, lens="everything", hole=Span(0, 9), bound=9, bookmark="", limit=50)
    third, second, first = page.messages
    assert (first.key, first.text, first.reply_to, first.topic) == (root, "first", "", "")
    assert (second.text, second.reply_to, second.topic) == ("second", root, "")
    assert (third.text, third.reply_to, third.topic) == ("third, see https://example.org/x", "", root)
    assert third.links == ("https://example.org/x",)
    assert third.edited_at is not None
    assert (page.edited, page.deleted) == ((), (gone,))
    page = await link.read(room, lens="everything", hole=Span(0, 9), bound=9, bookmark="", limit=2)
    assert (page.messages, page.edited, page.deleted) == ((), (threaded,), (gone,))
    await link.close()


async def test_a_listener_goes_on_from_its_mark_and_tells_what_was_cut(stage: Stage) -> None:
    room = await stage.make_room()
    first = await stage.other.post(room, "first")
    memory = VolatileMemory()
    link = await stage.open(memory)
    gap, mark = await hear(link, 2)
    assert (gap.kind, gap.stream, mark.kind) == ("gap", room, "mark")
    await memory.save(mark.memory)
    missed = [await stage.other.post(room, f"{number}") for number in range(55)]
    events = await hear(link, 52)
    assert [event.kind for event in events] == ["gap", *["message"] * 50, "mark"]
    assert [event.key for event in events[1:-1]] == missed[5:]
    page = await link.read(
        room, lens="everything", hole=Span(0, 99), bound=99, bookmark=events[0].bookmark, limit=10
    )
    assert [message.key for message in page.messages] == [*missed[4::-1], first]
    await link.close()


async def test_a_room_that_was_left_is_told_to_its_end(stage: Stage) -> None:
    room = await stage.make_room()
    memory = VolatileMemory()
    link = await stage.open(memory)
    _, mark = await hear(link, 2)
    await memory.save(mark.memory)
    last = await stage.other.post(room, "goodbye")
    await stage.account.ask("POST", f"rooms/{room}/leave", {})
    assert last in {event.key for event in await hear(link, 2)}
    assert await link.heads([room]) == {}
    await link.close()
