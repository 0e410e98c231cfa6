"""What a bot finds, reads, fetches and sends, and what it makes of Discord's refusals."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from discord_edge import Fault
from discord_stage import Stage

from headgate.connectors.discord import errors
from headgate.connectors.login_steps import LoginAttempt
from headgate.connectors.protocol import Link, OutgoingFile, Part
from headgate.domain.errors import Ambiguous, AuthFailed, Gone, RateLimited, Transient, WorkError
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Page, Span

pytestmark = [pytest.mark.once, pytest.mark.long]

TOP = 2**63 - 1
POSTS = r"/messages$"


@pytest.fixture
async def link(discord_stage: Stage) -> AsyncIterator[Link]:
    link = await discord_stage.open()
    yield link
    await link.close()


async def read(link: Link, channel: str, **more: int) -> Page:
    span = Span(more.get("start", 0), more.get("end", TOP))
    return await link.read(channel, lens="everything", hole=span, bound=TOP, bookmark="", limit=100)


async def join(link: Link, channel: str, key: str, file: str, offset: int = 0) -> bytes:
    chunks = link.download(channel, message_key=key, attachment_key=file, offset=offset)
    return b"".join([chunk async for chunk in chunks])


def meaning(stage: Stage, raised: pytest.ExceptionInfo[Exception]) -> WorkError:
    return stage.connector.classify(raised.value)


async def test_guilds_channels_threads_and_forum_posts_are_found_with_their_parents(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    category = await stage.make_channel("news desk", kind=4)
    news = await stage.make_channel("news", kind=5, parent_id=category)
    plain = await stage.make_channel("plain")
    forum = await stage.make_channel("forum")
    active = await stage.make_thread(plain, "active thread")
    archived = await stage.make_thread(plain, "old thread")
    post = await stage.make_thread(forum, "a post")
    stage.edge.translation.archived.add(archived)
    stage.edge.translation.forums.add(forum)
    found = {one.key: one for one in await link.discover() if one.kind == "stream"}
    assert found[news].parent == category
    assert found[plain].parent == stage.guild["id"]
    assert found[active].parent == found[archived].parent == plain
    assert found[post].parent == forum
    guild = stage.guild["name"]
    assert found[plain].parent_title == guild
    assert found[active].parent_title == found[plain].title == f"{guild} #plain"
    assert found[news].parent_title.startswith(f"{guild} › ")
    assert found[post].parent_title.startswith(f"{guild} #")
    assert forum not in found
    assert category not in found
    assert found[plain].title == "Test guild #plain"
    assert found[post].title == "Test guild #forum › a post"
    targets = {one.key for one in await link.discover() if one.kind == "target"}
    assert {news, plain, active, archived, post} <= targets


async def test_a_channel_that_the_bot_may_not_see_is_not_found(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    hidden = await stage.make_channel("hidden")
    await deny(stage, hidden, 1 << 10)
    assert hidden not in {one.key for one in await link.discover()}


async def deny(stage: Stage, channel: str, rights: int) -> None:
    everyone = stage.guild["id"]
    denied = {"id": everyone, "type": 0, "allow": "0", "deny": str(rights)}
    await stage.call("PUT", f"/channels/{channel}/permissions/{everyone}", denied)


async def test_an_empty_history_without_the_right_to_read_it_proves_nothing(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    channel = await stage.make_channel("secret-past")
    await stage.post(channel, "you cannot see this")
    await deny(stage, channel, 1 << 16)
    stage.edge.hidden_histories.add(channel)
    with pytest.raises(errors.NotAllowed, match=r"Read Message History.*#secret-past") as raised:
        await read(link, channel)
    assert isinstance(meaning(stage, raised), Gone)


async def test_a_send_without_the_right_names_what_the_bot_needs(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel("read-only")
    await deny(stage, channel, 1 << 11)
    with pytest.raises(errors.NotAllowed, match="Send Messages") as raised:
        await link.send(channel, Part("hello"), key="refused")
    assert isinstance(meaning(stage, raised), Gone)
    assert await stage.history(channel) == []


async def test_several_files_of_one_message_are_fetched_by_their_own_keys(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    contents = {f"{n}.bin": hashlib.sha256(str(n).encode()).digest() * 3000 for n in range(3)}
    files = [(name, "application/octet-stream", content) for name, content in contents.items()]
    key = await stage.post_files(channel, files, "three of them")
    stage.settle()
    (message,) = (await read(link, channel)).messages
    assert message.album == message.key
    for file in message.attachments:
        assert await join(link, channel, key, file.key) == contents[file.file_name]
        assert await join(link, channel, key, file.key, 50_000) == contents[file.file_name][50_000:]


async def test_an_expired_link_is_renewed_by_the_message(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    key = await stage.post_files(channel, [("a.bin", "application/octet-stream", b"content")])
    (file,) = (await stage.seen(link, channel, key)).attachments
    stage.clock.ahead_s = 2 * 86_400
    with pytest.raises(errors.LinkExpired) as raised:
        await join(link, channel, key, file.key)
    assert type(meaning(stage, raised)) is Transient
    stage.clock.ahead_s = 0
    await link.message(channel, key)
    assert await join(link, channel, key, file.key) == b"content"


async def test_a_file_is_found_by_a_process_that_never_saw_its_message(discord_stage: Stage) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    key = await stage.post_files(channel, [("a.bin", "application/octet-stream", b"content")])
    reader, other = await stage.open(), await stage.open()
    (file,) = (await stage.seen(reader, channel, key)).attachments
    assert await join(other, channel, key, file.key) == b"content"
    for one in (reader, other):
        await one.close()


async def test_a_forwarded_message_is_read_with_the_files_of_the_original(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    source, target = await stage.make_channel(), await stage.make_channel()
    key = await stage.post_files(source, [("far.bin", "application/octet-stream", b"far")], "look at this")
    sent = await link.forward(source, message_key=key, target=target, key="pass-on")
    message = await stage.seen(link, target, sent.key)
    assert message.text == "look at this"
    assert [file.file_name for file in message.attachments] == ["far.bin"]
    assert await join(link, target, sent.key, message.attachments[0].key) == b"far"
    with pytest.raises(errors.NotThere) as raised:
        await link.forward(source, message_key="1", target=target, key="nothing-there")
    assert isinstance(meaning(stage, raised), Gone)


@pytest.mark.parametrize("kind", ["429", "429-global"])
async def test_a_limit_is_told_at_once_and_neither_slept_on_nor_repeated(
    discord_stage: Stage, link: Link, kind: str
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    stage.edge.faults.append(Fault("POST", POSTS, kind, retry_after_s=17.5))
    stage.edge.faults.append(Fault("GET", POSTS, kind, retry_after_s=17.5))
    began = stage.clock.monotonic()
    for call in (link.send(channel, Part("hello"), key="limited"), read(link, channel)):
        with pytest.raises(errors.TooMany) as raised:
            await call
        ours = meaning(stage, raised)
        assert isinstance(ours, RateLimited)
        assert ours.retry_after_s == 17.5
    assert stage.clock.monotonic() - began < 5
    assert stage.edge.count("POST", POSTS) == stage.edge.count("GET", POSTS) == 1


@pytest.mark.parametrize(("kind", "arrived"), [("500", 0), ("reset", 0), ("lost", 1)])
async def test_a_send_without_a_clear_answer_is_in_doubt_and_its_repeat_is_not_doubled(
    discord_stage: Stage, link: Link, kind: str, arrived: int
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    stage.edge.faults.append(Fault("POST", POSTS, kind))
    with pytest.raises(errors.SendUnanswered) as raised:
        await link.send(channel, Part("hello"), key="doubtful")
    assert isinstance(meaning(stage, raised), Ambiguous)
    assert len(await stage.history(channel)) == arrived
    await link.send(channel, Part("hello"), key="doubtful")
    assert len(await stage.history(channel)) == 1


async def test_what_may_have_been_sent_is_found_by_its_content(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    since = stage.clock.now() - timedelta(seconds=5)
    await stage.post(channel, "hello")
    stage.edge.faults.append(Fault("POST", POSTS, "lost"))
    with pytest.raises(errors.SendUnanswered):
        await link.send(channel, Part("hello"), key="one")
    found = await link.find_sent(channel, Sought("hello"), key="one", since=since)
    assert found is not None
    assert found.key == (await stage.history(channel))[-1]["id"]


async def test_two_open_sends_of_one_content_are_not_guessed_apart(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    since = stage.clock.now() - timedelta(seconds=5)
    stage.edge.faults += [Fault("POST", POSTS, "lost"), Fault("POST", POSTS, "reset")]
    for key in ("one", "two"):
        with pytest.raises(errors.SendUnanswered):
            await link.send(channel, Part("hello"), key=key)
    assert await link.find_sent(channel, Sought("hello", rivals=1), key="two", since=since) is None
    fresh = await stage.open()
    assert await fresh.find_sent(channel, Sought("hello", rivals=1), key="one", since=since) is None
    await fresh.close()


async def test_a_server_that_ignores_nonces_sends_a_repeat_again(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    stage.edge.enforces_nonces = False
    channel = await stage.make_channel()
    for _ in range(2):
        await link.send(channel, Part("hello"), key="same")
    assert len(await stage.history(channel)) == 2


async def test_a_sent_file_arrives_whole_and_an_unknown_upload_has_lapsed(
    discord_stage: Stage, link: Link
) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    content = bytes(range(256)) * 4000
    media = await link.upload(OutgoingFile.of("pack.bin", "application/octet-stream", content))
    sent = await link.send(channel, Part("see file", media.handle), key="file")
    message = await stage.seen(link, channel, sent.key)
    assert message.text == "see file"
    assert await join(link, channel, sent.key, message.attachments[0].key) == content
    with pytest.raises(errors.UploadLapsed) as raised:
        await link.send(channel, Part("", "no-such-upload"), key="lapsed")
    assert isinstance(meaning(stage, raised), Gone)


async def test_a_login_says_what_the_bot_lacks(discord_stage: Stage) -> None:
    stage = discord_stage
    stage.edge.application_flags = 0
    with pytest.raises(errors.SignInRefused, match="MESSAGE CONTENT INTENT") as raised:
        await stage.connector.login(LoginAttempt(answers={"token": stage.token}))
    assert isinstance(meaning(stage, raised), AuthFailed)
    stage.edge.application_flags = 1 << 18
    assert await stage.connector.login(LoginAttempt(answers={"token": f" Bot {stage.token} "}))


async def test_a_channel_that_was_deleted_is_gone(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    await stage.call("DELETE", f"/channels/{channel}")
    calls = (read(link, channel), link.send(channel, Part("hi"), key="k"), link.message(channel, "5"))
    for call in calls:
        with pytest.raises(errors.DiscordError) as raised:
            await call
        assert isinstance(meaning(stage, raised), Gone)
    assert await link.heads([channel]) == {}


async def test_a_token_that_was_reset_must_sign_in_again(discord_stage: Stage, link: Link) -> None:
    stage = discord_stage
    channel = await stage.make_channel()
    await stage.call("POST", f"/applications/{stage.application}/bot/reset", {})
    with pytest.raises(errors.SignInRefused) as raised:
        await read(link, channel)
    assert isinstance(meaning(stage, raised), AuthFailed)
