"""What is counted: messages that were examined, messages that hold something kept, and how far reading is."""

from __future__ import annotations

from bench import Bench

from headgate.intake.channels import requests
from headgate.storage.channels.requests import ScanWish
from headgate.testing import file_of
from headgate.testing.platform.errors import SimTimeout


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
    await lensed.set(extensions=["zip"], fetch="none")
    await lensed.catch_up()
    before = await lensed.explain()
    assert before.stream.lenses == ["documents"]
    assert before.stream.total_messages_scanned == 3
    documents = [one for one in before.coverage if one.lens == "documents"]
    await lensed.set(extensions=["zip"], fetch="none", link_patterns=["https://clips.example/*"])
    await lensed.catch_up()
    after = await lensed.explain()
    assert after.stream.lenses == ["everything"]
    assert after.holes == []
    assert len(await lensed.column("sightings")) == 6
    # The search for documents had covered the positions of the others without reading them.
    assert (after.stream.total_messages_scanned, after.stream.message_count) == (6, 6)
    (narrow,) = [one for one in after.coverage if one.lens == "documents"]
    assert narrow.backward_message_id == documents[0].backward_message_id


async def test_photos_that_filters_reject_are_read_beside_files_that_are_downloaded(lensed: Bench) -> None:
    photo = file_of("cover.png", b"p", mime_type="image/png")
    lensed.world.post("packs", files=[photo], album="1")
    lensed.world.post("packs", files=[file_of("pack.zip", b"z")], album="1")
    lensed.world.post("packs", text="chat, which neither lens shows")
    await lensed.follow()
    await lensed.set(extensions=["zip"])
    await lensed.catch_up()
    assert (await lensed.explain()).stream.lenses == ["documents", "photos"]
    seen = await lensed.rows("select file_name, verdict from sighting order by file_name")
    assert [(row["file_name"], row["verdict"]) for row in seen] == [
        ("cover.png", "extension"),
        ("pack.zip", "kept"),
    ]


async def test_a_narrower_lens_reads_nothing_again(lensed: Bench) -> None:
    for number in range(3):
        lensed.world.post("packs", files=[file_of(f"{number}.zip", str(number).encode())])
    await lensed.follow()
    await lensed.catch_up()
    assert (await lensed.explain()).stream.lenses == ["everything"]
    reads = lensed.calls("read")
    await lensed.set(extensions=["zip"], fetch="none")
    await lensed.work()
    await lensed.rest()
    explained = await lensed.explain()
    assert explained.stream.lenses == ["documents"]
    assert lensed.calls("read") == reads
    assert explained.holes == []


async def test_messages_that_only_a_later_lens_shows_are_counted_too(lensed: Bench) -> None:
    for number in range(3):
        lensed.world.post("packs", files=[file_of(f"{number}.zip", str(number).encode())])
        picture = file_of(f"{number}.png", f"p{number}".encode(), mime_type="image/png")
        lensed.world.post("packs", files=[picture])
    both = [file_of("b.zip", b"b"), file_of("b.png", b"pb", mime_type="image/png")]
    lensed.world.post("packs", files=both)
    lensed.world.post("packs", text="chat, which neither lens shows")
    await lensed.follow()
    await lensed.set(extensions=["zip"], fetch="none")
    await lensed.catch_up()
    first = await lensed.explain()
    assert (first.stream.lenses, first.progress.messages_read) == (["documents"], 4)
    await lensed.set(mime_types=["image/*"])
    await lensed.catch_up()
    second = await lensed.explain()
    assert second.stream.lenses == ["documents", "photos"]
    assert second.progress.messages_read == 7
    assert second.progress.complete
    await lensed.set(link_patterns=["*"])
    await lensed.catch_up()
    third = await lensed.explain()
    assert (third.stream.lenses, third.progress.messages_read) == (["everything"], 8)


async def test_a_reset_counts_no_message_again_and_none_less(bench: Bench) -> None:
    bench.world.fill("packs", 250)
    await bench.follow()
    await bench.catch_up()
    before = (await bench.explain()).stream
    await bench.do(
        lambda tx: requests.reset_scan(tx, before.id, ScanWish(), ids=bench.parts.ids, now=bench.clock.now())
    )
    while (await bench.explain()).scans[0].pages < 1:
        await bench.step()
    during = await bench.explain()
    assert during.progress.messages_read == before.total_messages_scanned == 250
    assert during.stream.message_count <= during.progress.messages_read
    # How much of it was read again is another matter.
    assert not during.progress.complete
    bench.world.post("packs", text="new")
    await bench.catch_up()
    await bench.rest()
    after = await bench.explain()
    assert (after.progress.messages_read, after.progress.complete) == (251, True)


async def test_the_share_is_that_of_the_lenses_that_are_wanted(lensed: Bench) -> None:
    lensed.world.fill("packs", 5, shape="archive")
    await lensed.follow()
    await lensed.set(extensions=["zip"], fetch="none")
    await lensed.catch_up()
    assert (await lensed.explain()).progress.share == 1.0
    lensed.fail("read.before_effect", SimTimeout("read"))
    await lensed.set(mime_types=["image/*"])
    await lensed.work()
    lensed.world.on_point = None
    explained = await lensed.explain()
    assert explained.stream.lenses == ["documents", "photos"]
    # Through one of them nothing was read.
    assert (explained.progress.share, explained.progress.complete_from) == (0.0, None)
    await lensed.catch_up()
    assert (await lensed.explain()).progress.share == 1.0
