"""What a world holds, and what can be done to it."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from headgate.domain.errors import AuthFailed, Banned, Gone, Restricted
from headgate.domain.streams.messages import Span
from headgate.testing import PRESETS, SimulatedConnector, VirtualClock, World, file_of
from headgate.testing.memory import VolatileMemory
from headgate.testing.platform.errors import SimError, SimNotFound
from headgate.testing.platform.profiles import Profile

pytestmark = pytest.mark.once

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def build(seed: int, profile: Profile, clock: VirtualClock | None = None) -> World:
    world = World(seed, clock or VirtualClock(START), profile)
    world.add_account("reader")
    world.add_stream("packs")
    world.add_stream("forum", topics=["General", "Releases"])
    world.fill("packs", 40)
    world.fill("forum", 40)
    world.post_set("packs", parts=12)
    world.post_album("forum", pictures=4, topic="Releases")
    return world


@pytest.mark.parametrize("name", list(PRESETS))
def test_the_same_seed_gives_the_same_world(name: str) -> None:
    assert build(1, PRESETS[name]).digest() == build(1, PRESETS[name]).digest()
    assert build(1, PRESETS[name]).digest() != build(2, PRESETS[name]).digest()


@pytest.mark.parametrize("name", list(PRESETS))
def test_positions_are_64_bit_strictly_ordered_and_never_dense(name: str) -> None:
    world = build(1, PRESETS[name].but(late_order_chance=0.0))
    for stream in world.streams:
        positions = [message.position for message in world.messages(stream)]
        gaps = [b - a for a, b in pairwise(positions)]
        assert min(gaps) > 1
        assert len(set(gaps)) > 10
        assert max(positions) < 2**63


def test_some_streams_have_positions_that_a_float_cannot_hold() -> None:
    world = build(1, PRESETS["telegram_like"])
    packs = {message.position for message in world.messages("packs")}
    forum = {message.position for message in world.messages("forum")}
    assert min(packs) > 2**53 > max(forum)
    assert {int(float(position)) for position in packs} != packs


def test_a_set_of_twelve_parts_spans_two_albums(world: World) -> None:
    messages = world.post_set("packs", parts=12)
    assert [sum(m.album == album for m in messages) for album in {m.album for m in messages}].count(2) == 1
    assert len({m.attachments[0].file_name for m in messages}) == 12


def test_a_repost_has_the_same_content_under_another_key(world: World) -> None:
    first = world.post("packs", shape="archive")
    again = world.repost("packs", first.key)
    assert again.key != first.key
    assert again.attachments[0].content_id == first.attachments[0].content_id


def test_an_edit_can_bring_a_file_later(world: World) -> None:
    message = world.post("packs", text="file follows")
    world.edit("packs", message.key, text="here it is", files=[file_of("a.zip", b"zip")])
    (now,) = world.messages("packs")
    assert [a.file_name for a in now.attachments] == ["a.zip"]
    assert now.edited_at is not None


def test_topics_come_and_go_with_their_messages(world: World) -> None:
    world.convert_to_forum("packs", ["General"])
    world.create_topic("packs", "Short-lived")
    kept = world.post("packs", text="stays", topic="General")
    world.post("packs", text="goes", topic="Short-lived")
    world.remove_topic("packs", "Short-lived")
    assert [message.key for message in world.messages("packs")] == [kept.key]


def test_converting_a_channel_keeps_its_sequence(world: World) -> None:
    before = world.post("packs", text="plain")
    world.convert_to_forum("packs", ["General"])
    after = world.post("packs", text="forum", topic="General")
    assert after.position > before.position
    assert len(world.messages("packs")) == 2


async def test_a_migrated_group_is_a_new_stream_that_continues_the_old(world: World) -> None:
    world.post("packs", text="old")
    new = world.migrate_group("packs")
    world.post(new, text="new")
    with pytest.raises(SimNotFound, match="has moved"):
        world.post("packs", text="too late")
    link = await SimulatedConnector(world).open("reader", {}, VolatileMemory())
    found = {channel.key: channel for channel in await link.discover()}
    assert found[new].continues == "packs"


@pytest.mark.parametrize(
    ("state", "meaning"), [("ban", Banned), ("logout", AuthFailed)], ids=["banned", "logged out"]
)
async def test_an_account_in_trouble_cannot_call(world: World, state: str, meaning: type[Exception]) -> None:
    connector = SimulatedConnector(world)
    link = await connector.open("reader", {}, VolatileMemory())
    getattr(world, state)("reader")
    with pytest.raises(SimError) as caught:
        await link.heads(["packs"])
    assert isinstance(connector.classify(caught.value), meaning)
    world.restore("reader")
    assert "packs" in await link.heads(["packs"])


async def test_a_restricted_account_reads_but_does_not_send(world: World) -> None:
    connector = SimulatedConnector(world)
    link = await connector.open("reader", {}, VolatileMemory())
    world.add_group("club")
    world.restrict("reader")
    assert "packs" in await link.heads(["packs"])
    with pytest.raises(SimError) as caught:
        await link.prepare("club")
    assert isinstance(connector.classify(caught.value), Restricted)


async def test_a_kicked_account_finds_the_stream_gone_while_another_reads_on(world: World) -> None:
    world.add_account("stand-by")
    world.post("packs", text="hello")
    world.kick("reader", "packs")
    connector = SimulatedConnector(world)
    link, other = (
        await connector.open("reader", {}, VolatileMemory()),
        await connector.open("stand-by", {}, VolatileMemory()),
    )
    whole = Span(0, 2**62)
    with pytest.raises(SimNotFound) as caught:
        await link.read("packs", lens="everything", hole=whole, bound=2**62, bookmark="", limit=5)
    page = await other.read("packs", lens="everything", hole=whole, bound=2**62, bookmark="", limit=5)
    assert isinstance(connector.classify(caught.value), Gone)
    assert len(page.messages) == 1


async def test_accounts_count_by_themselves_where_the_profile_says_so(clock: VirtualClock) -> None:
    world = build(1, PRESETS["basic_group_like"], clock)
    world.add_account("second")
    connector = SimulatedConnector(world)
    clock.advance(60)
    heads = [
        await (await connector.open(name, {}, VolatileMemory())).heads(["packs"])
        for name in ("reader", "second")
    ]
    assert heads[0]["packs"].position != heads[1]["packs"].position


async def test_expired_links_are_renewed_by_fetching_the_message(world: World, clock: VirtualClock) -> None:
    connector = SimulatedConnector(world)
    link = await connector.open("reader", {}, VolatileMemory())
    message = world.post("packs", files=[file_of("a.bin", b"bytes")])
    clock.advance(5)
    world.expire_links("packs")
    with pytest.raises(SimError, match="expired"):
        _ = [c async for c in link.download("packs", message_key=message.key, attachment_key="a0")]
    await link.message("packs", message.key)
    chunks = [c async for c in link.download("packs", message_key=message.key, attachment_key="a0")]
    assert chunks == [b"bytes"]


async def test_links_lapse_by_themselves_where_the_profile_says_so(clock: VirtualClock) -> None:
    world = World(1, clock, Profile(link_life_s=60))
    world.add_account("reader")
    world.add_stream("packs")
    link = await SimulatedConnector(world).open("reader", {}, VolatileMemory())
    message = world.post("packs", files=[file_of("a.bin", b"bytes")])
    clock.advance(61)
    with pytest.raises(SimError, match="expired"):
        _ = [c async for c in link.download("packs", message_key=message.key, attachment_key="a0")]


async def test_a_garbled_message_is_named_but_not_told(world: World, clock: VirtualClock) -> None:
    link = await SimulatedConnector(world).open("reader", {}, VolatileMemory())
    message = world.post("packs", text="unreadable")
    world.garble("packs", message.key)
    clock.advance(60)
    bound = message.position + 1
    page = await link.read("packs", lens="everything", hole=Span(0, bound), bound=bound, bookmark="", limit=5)
    assert page.messages == ()
    assert page.unreadable == (message.key,)
    assert message.position in page.proven


@pytest.mark.long
def test_a_hundred_thousand_messages_cost_little_memory(clock: VirtualClock) -> None:
    world = World(1, clock)
    world.add_stream("busy")
    tracemalloc.start()
    world.fill("busy", 100_000, hours=1000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 60_000_000
    assert len(world.streams["busy"].posted) == 100_000


def test_history_goes_in_before_anything_else(world: World) -> None:
    world.post("packs", text="now")
    with pytest.raises(ValueError, match="history goes in first"):
        world.fill("packs", 3)


def test_backdated_and_future_messages_keep_their_place(world: World) -> None:
    early = world.post("packs", text="claims the past", sent_at=START - timedelta(days=3))
    late = world.post("packs", text="claims the future", sent_at=START + timedelta(days=3))
    assert early.position < late.position
    assert [m.sent_at for m in world.messages("packs")] == [
        START - timedelta(days=3),
        START + timedelta(days=3),
    ]
