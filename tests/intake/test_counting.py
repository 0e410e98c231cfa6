"""What is counted: messages that were examined, messages that hold something kept, and how far reading is."""

from __future__ import annotations

from bench import Bench

from headgate.testing import file_of


async def test_found_42_clips_across_15_messages(bench: Bench) -> None:
    for number in range(15):
        clips = 4 if number < 3 else 3 if number < 9 else 2
        bench.world.post(
            "packs",
            files=[
                file_of(f"{number}-{clip}.mp4", f"{number} {clip}".encode(), mime_type="video/mp4")
                for clip in range(clips)
            ],
        )
        for _ in range(4):
            bench.world.post("packs", text="chat")
    await bench.follow()
    await bench.catch_up()
    stream = (await bench.explain()).stream
    assert (stream.items, stream.message_count) == (42, 15)
    assert (stream.total_messages_scanned, stream.item_kinds) == (75, ["clip"])


async def test_a_message_of_which_nothing_is_kept_is_scanned_and_not_counted(bench: Bench) -> None:
    bench.world.post("packs", files=[file_of("a.zip", b"a"), file_of("b.txt", b"b")])
    bench.world.post("packs", files=[file_of("c.txt", b"c")])
    await bench.follow()
    await bench.set(extensions=["zip"])
    await bench.catch_up()
    stream = await bench.stream()
    assert (stream.message_count, stream.total_messages_scanned) == (1, 2)


async def test_ids_are_told_for_each_lens(lensed: Bench) -> None:
    lensed.world.post("packs", files=[file_of("old.zip", b"a")])
    lensed.world.post("packs", text="chat")
    await lensed.follow()
    await lensed.set(mime_types=["image/*"])
    await lensed.catch_up()
    explained = await lensed.explain()
    assert explained.stream.lenses == ["documents", "photos"]
    by_lens = {one.lens: one for one in explained.coverage if one.wanted}
    newest = lensed.world.messages("packs")[-1].position
    for lens in ("documents", "photos"):
        assert by_lens[lens].forward_message_id == newest
        assert by_lens[lens].backward_message_id == 0


async def test_a_message_seen_through_two_lenses_is_counted_once(lensed: Bench) -> None:
    picture = file_of("a.png", b"a", mime_type="image/png")
    lensed.world.post("packs", files=[picture, file_of("b.zip", b"b")])
    await lensed.follow()
    await lensed.set(mime_types=["image/*"])
    await lensed.catch_up()
    assert (await lensed.explain()).stream.lenses == ["documents", "photos"]
    stream = await lensed.stream()
    assert (stream.total_messages_scanned, stream.message_count) == (1, 1)


async def test_a_wider_lens_is_read_alone_and_nothing_is_counted_again(lensed: Bench) -> None:
    for number in range(3):
        lensed.world.post("packs", files=[file_of(f"{number}.zip", str(number).encode())])
        lensed.world.post("packs", links=[f"https://clips.example/{number}"])
    await lensed.follow()
    await lensed.set(extensions=["zip"])
    await lensed.catch_up()
    before = await lensed.explain()
    assert before.stream.lenses == ["documents"]
    assert before.stream.total_messages_scanned == 3
    documents = [one for one in before.coverage if one.lens == "documents"]
    await lensed.set(extensions=["zip"], link_patterns=["https://clips.example/*"])
    await lensed.catch_up()
    after = await lensed.explain()
    assert after.stream.lenses == ["everything"]
    assert after.holes == []
    assert len(await lensed.column("sightings")) == 6
    # The search for documents had examined all of these positions.
    assert (after.stream.total_messages_scanned, after.stream.message_count) == (3, 6)
    (narrow,) = [one for one in after.coverage if one.lens == "documents"]
    assert narrow.backward_message_id == documents[0].backward_message_id


async def test_a_narrower_lens_reads_nothing_again(lensed: Bench) -> None:
    for number in range(3):
        lensed.world.post("packs", files=[file_of(f"{number}.zip", str(number).encode())])
    await lensed.follow()
    await lensed.catch_up()
    assert (await lensed.explain()).stream.lenses == ["everything"]
    reads = lensed.calls("read")
    await lensed.set(extensions=["zip"])
    await lensed.work()
    await lensed.rest()
    explained = await lensed.explain()
    assert explained.stream.lenses == ["documents"]
    assert lensed.calls("read") == reads
    assert explained.holes == []
