"""What is taken in becomes items in the same transaction, unless something has to wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from missing import STREAM, Missing

from headgate.domain.streams.messages import Message
from headgate.testing import file_of


def edited(message: Message, *, name: str, content: str) -> Message:
    """Return the message as it is after its only file was replaced."""
    (attachment,) = message.attachments
    file = replace(attachment, file_name=name, content_id=content)
    return replace(message, attachments=(file,), edited_at=message.sent_at + timedelta(minutes=1))


async def test_what_is_new_is_an_item_at_once_without_a_job(missing: Missing) -> None:
    await missing.accept(missing.world.post(STREAM, files=[file_of("first.zip", b"one")]))
    assert await missing.column("titles") == ["first"]
    assert await missing.carry_out() == 0


async def test_what_the_database_refuses_waits_for_ingesting_and_holds_up_nothing(missing: Missing) -> None:
    await missing.change("refuse")
    names = ["good.zip", "bad.zip"]
    await missing.accept(
        *(missing.world.post(STREAM, files=[file_of(name, name.encode())]) for name in names)
    )
    assert await missing.column("titles") == []
    assert len(await missing.column("sightings")) == 2
    await missing.carry_out()
    assert await missing.column("titles") == ["good"]
    assert [miss.file_name for miss in await missing.misses()] == ["bad.zip"]


async def test_the_same_content_twice_on_a_page_is_one_item(missing: Missing) -> None:
    await missing.accept(
        *(missing.world.post(STREAM, files=[file_of(name, b"same")]) for name in ("one.zip", "two.zip"))
    )
    assert await missing.column("titles") == ["one"]


async def test_an_edit_to_another_content_is_another_item_at_once(missing: Missing) -> None:
    message = missing.world.post(STREAM, files=[file_of("first.zip", b"one")])
    await missing.accept(message)
    await missing.accept(edited(message, name="second.zip", content="other"))
    assert await missing.column("titles") == ["first", "second"]
    assert await missing.carry_out() == 0


async def test_a_page_from_before_an_edit_makes_no_item(missing: Missing) -> None:
    message = missing.world.post(STREAM, files=[file_of("first.zip", b"one")])
    await missing.accept(edited(message, name="second.zip", content="other"))
    await missing.accept(message)
    await missing.work()
    assert await missing.column("titles") == ["second"]


async def test_reading_it_again_makes_nothing_and_wakes_nothing(missing: Missing) -> None:
    message = missing.world.post(STREAM, files=[file_of("first.zip", b"one")])
    await missing.accept(message)
    locks = await missing.column("locks_of_items")
    await missing.accept(message)
    assert await missing.column("titles") == ["first"]
    assert await missing.column("locks_of_items") == locks
    assert await missing.carry_out() == 0


async def test_a_repost_of_what_was_hidden_shows_it_again(missing: Missing) -> None:
    await missing.accept(missing.world.post(STREAM, files=[file_of("first.zip", b"one")]))
    await missing.change("hide")
    await missing.accept(missing.world.post(STREAM, files=[file_of("again.zip", b"one")]))
    assert await missing.column("shown") == ["first"]


async def test_where_something_waits_already_all_of_the_page_waits(missing: Missing) -> None:
    waiting = missing.world.post(STREAM, files=[file_of("first.zip", b"one")])
    await missing.accept_waiting(waiting)
    await missing.accept(waiting, missing.world.post(STREAM, files=[file_of("again.zip", b"one")]))
    assert await missing.column("titles") == []
    await missing.carry_out()
    assert await missing.column("titles") == ["first"]


async def test_a_given_up_miss_is_forgotten_when_another_form_becomes_an_item(missing: Missing) -> None:
    await missing.change("refuse")
    message = missing.world.post(STREAM, files=[file_of("bad.zip", b"one")])
    await missing.accept(message)
    await missing.carry_out()
    await missing.change("give_up")
    await missing.change("reject")
    await missing.accept(edited(message, name="good.zip", content="other"))
    assert await missing.column("titles") == ["good"]
    assert await missing.misses() == []
