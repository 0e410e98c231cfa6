"""From stored files to what is inside them: real archives, real subprocesses, a real database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from inspecting_bench import InspectingBench
from made_archives import SETS, SINGLE, TREE, zip_entry, zip_of, zip_record, zip_with

from headgate.ingest.contents.archives import LIST
from headgate.ingest.inspecting.scratch import Scratch
from headgate.storage.blobs.store import StoreAway
from headgate.testing.rar_writer import write_rar

FILES = sorted(TREE)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("kind", SINGLE)
async def test_a_single_archive_is_listed(inspecting: InspectingBench, tmp_path: Path, kind: str) -> None:
    (path,) = SINGLE[kind](tmp_path)
    item_id = await inspecting.post_all({_single_name(kind): path.read_bytes()})
    seen = await inspecting.look(item_id)
    assert (seen.state, seen.problems, seen.due_at) == ("ok", [], None)
    assert sorted(await inspecting.column("list_files_inside", item_id=item_id)) == FILES


def test_looking_into_archives_takes_no_slot_of_scans(inspecting: InspectingBench) -> None:
    """Four slow archives would otherwise stop all reading of history for as long as they take."""
    runners = {runner.name: set(runner.entrypoints) for runner in inspecting.parts.worker().runners}
    assert runners["inspect"] == {"inspect"}
    assert "scan" in runners["bulk"]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("kind", SETS)
async def test_a_set_is_listed_whatever_the_order_of_its_posts(
    inspecting: InspectingBench, tmp_path: Path, kind: str
) -> None:
    volumes = SETS[kind](tmp_path)
    posts = {_set_name(kind, place + 1, len(volumes)): path for place, path in enumerate(volumes)}
    item_id = await inspecting.post_all({name: posts[name].read_bytes() for name in reversed(posts)})
    seen = await inspecting.look(item_id)
    assert (seen.state, seen.problems) == ("ok", [])
    assert sorted(await inspecting.column("list_files_inside", item_id=item_id)) == FILES
    assert len(seen.volumes) == len(volumes)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kind", SETS)
async def test_a_set_without_its_middle_volume_says_so(
    inspecting: InspectingBench, tmp_path: Path, kind: str
) -> None:
    volumes = SETS[kind](tmp_path)
    contents = {
        _set_name(kind, place + 1, len(volumes)): None if place == 1 else path.read_bytes()
        for place, path in enumerate(volumes)
    }
    seen = await inspecting.look(await inspecting.post_all(contents))
    assert seen.state == "incomplete"
    assert "missing_volumes" in seen.problems


def _single_name(kind: str) -> str:
    """Return a name that fits: `zip by zip` is a zip, `tar.gz` is a tar.gz."""
    ending = kind.partition(" ")[0].removesuffix("64").removesuffix("5")
    return f"pack.{ending}"


def _set_name(kind: str, number: int, last: int) -> str:
    match kind:
        case "part1.rar":
            return f"pack.part{number}.rar"
        case "z01 + zip":
            return "pack.zip" if number == last else f"pack.z{number:02}"
        case _:
            return f"pack.{kind.removesuffix('.001')}.{number:03}"


async def test_volumes_prove_their_number_while_some_are_missing(inspecting: InspectingBench) -> None:
    volumes = write_rar(TREE, volume_bytes=100 * 1024)
    item_id = await inspecting.add_item()
    for number, content in enumerate(volumes, start=1):
        stored = content if number in (1, len(volumes)) else None
        await inspecting.post(f"pack.part{number}.rar", stored, item_id=item_id)
    seen = await inspecting.look(item_id)
    assert (seen.proven_total, seen.proof_reason) == (len(volumes), "volumes_missing")
    assert seen.state == "incomplete"


async def test_the_last_volume_is_missed_though_nothing_else_tells(inspecting: InspectingBench) -> None:
    volumes = write_rar(TREE, volume_bytes=100 * 1024)
    files = {f"pack.part{number}.rar": content for number, content in enumerate(volumes[:-1], start=1)}
    seen = await inspecting.look(await inspecting.post_all(dict(files)))
    assert (seen.state, seen.proven_total) == ("incomplete", None)
    assert "missing_volumes" in seen.problems


async def test_copies_of_a_volume_count_once(inspecting: InspectingBench) -> None:
    first, *rest = write_rar(TREE, volume_bytes=100 * 1024)
    item_id = await inspecting.post_all({"pack.part1.rar": None})
    await inspecting.post("Pack.part1.rar", first, item_id=item_id)
    await inspecting.post("pack.part1.rar", first, item_id=item_id)
    for number, content in enumerate(rest, start=2):
        await inspecting.post(f"pack.part{number}.rar", content, item_id=item_id)
    seen = await inspecting.look(item_id)
    assert (seen.state, len(seen.volumes)) == ("ok", 1 + len(rest))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("name", "content", "state"),
    [
        ("pack.zip", zip_of(TREE)[:-40], "truncated"),
        ("pack.zip", b"nothing of the kind" * 100, "damaged"),
        ("notes.txt", b"just a text", "plain"),
        ("model", b"no name and no archive", "plain"),
        ("pack.zip", zip_of({"../../etc/passwd": b"x", "a.txt": b"a"}), "hostile"),
        ("archive", zip_of(TREE), "ok"),
        (
            "bomb.zip",
            zip_with(
                zip_entry(b"bomb", b"x" * 100, size=2**31),
                [zip_record(b"bomb", packed=100, size=2**31, offset=0)],
            ),
            "hostile",
        ),
    ],
)
async def test_what_is_wrong_is_a_state(
    inspecting: InspectingBench, name: str, content: bytes, state: str
) -> None:
    seen = await inspecting.look(await inspecting.post_all({name: content}))
    assert seen.state == state


@pytest.mark.parametrize(
    ("sample", "state"), [("rar3-comment-hpsw.rar", "encrypted"), ("rar5-hpsw.rar", "encrypted")]
)
async def test_encrypted_names_are_told(
    inspecting: InspectingBench, rar_samples: Path, sample: str, state: str
) -> None:
    content = (rar_samples / sample).read_bytes()
    seen = await inspecting.look(await inspecting.post_all({sample: content}))
    assert (seen.state, seen.problems) == (state, ["encrypted_names"])


@pytest.mark.long
async def test_fifty_thousand_entries_are_stored(inspecting: InspectingBench) -> None:
    content = zip_of({f"folder {number % 97}/file {number}.txt": b"" for number in range(50_000)}, method=0)
    item_id = await inspecting.post_all({"many.zip": content})
    seen = await inspecting.look(item_id)
    assert (seen.state, seen.entry_count) == ("ok", 50_000)
    assert len(await inspecting.paths(item_id)) == 50_000


async def test_nothing_stored_is_nothing_to_look_into(inspecting: InspectingBench) -> None:
    seen = await inspecting.look(await inspecting.post_all({"pack.zip": None}))
    assert (seen.state, seen.volumes) == ("empty", [])


async def test_dropped_files_take_their_contents_along(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    sighting_id = await inspecting.post("pack.zip", zip_of(TREE), item_id=item_id)
    assert (await inspecting.look(item_id)).state == "ok"
    await inspecting.execute("drop_file", id=sighting_id)
    assert (await inspecting.look(item_id)).state == "empty"
    assert await inspecting.paths(item_id) == []


async def test_a_look_that_is_out_of_date_is_not_stored(
    inspecting: InspectingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    item_id = await inspecting.post_all({"pack.zip": zip_of(TREE)})
    archives = inspecting.parts.reader.archives
    listed = archives.list_contents
    looks = 0

    async def list_while_files_change(*args: object, **kwargs: object) -> object:
        nonlocal looks
        looks += 1
        found = await listed(*args, **kwargs)  # type: ignore[arg-type]
        if looks == 1:
            await inspecting.note(item_id)
            assert (await inspecting.get(item_id)).state == "pending"
        return found

    monkeypatch.setattr(archives, "list_contents", list_while_files_change)
    seen = await inspecting.look(item_id)
    assert (looks, seen.state, seen.due_at, seen.seq) == (2, "ok", None, 2)


async def test_a_crash_before_the_end_repeats_the_look(inspecting: InspectingBench) -> None:
    item_id = await inspecting.post_all({"pack.zip": zip_of(TREE)})
    await inspecting.note(item_id)
    stepper = await inspecting.stepper()
    await inspecting.parts.tick().tick(inspecting.clock.now())
    job = await stepper.claim()
    assert job is not None
    assert (await inspecting.get(item_id)).state == "pending"
    _, settlement = await stepper.execute(job)
    await stepper.settle(job, settlement)
    assert (await inspecting.get(item_id)).state == "ok"
    assert await inspecting.work() == 0


async def test_a_missing_object_is_noted_and_the_rest_is_looked_into(inspecting: InspectingBench) -> None:
    item_id = await inspecting.add_item()
    sighting_id = await inspecting.post("pack.zip", None, item_id=item_id)
    blob = await inspecting.keep(sighting_id, zip_of(TREE))
    await inspecting.parts.files.store.delete([blob.object_name])
    assert (await inspecting.look(item_id)).state == "empty"
    assert await inspecting.column("list_damaged") == [blob.id]


async def test_a_disk_that_is_not_mounted_damages_nothing(
    inspecting: InspectingBench, tmp_path: Path
) -> None:
    item_id = await inspecting.post_all({"pack.zip": zip_of(TREE)})
    folder = tmp_path / "data" / "blobs"
    folder.rename(tmp_path / "elsewhere")
    folder.mkdir()
    await inspecting.note(item_id)
    await inspecting.work()
    assert (await inspecting.get(item_id)).state == "pending"
    assert await inspecting.column("list_damaged") == []
    with pytest.raises(StoreAway):
        await inspecting.parts.reader.files.confirm_store()


async def test_an_archive_that_breaks_its_reader_is_blamed_alone(
    inspecting: InspectingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = await inspecting.post_all({"pack.zip": zip_of(TREE)})
    good = await inspecting.post_all({"pack.zip": zip_of(TREE)})
    killed = replace(LIST, limits=replace(LIST.limits, wall_s=0.000_1))
    archives = inspecting.parts.reader.archives
    monkeypatch.setattr(archives, "_list_task", killed)
    seen = await inspecting.look(bad)
    assert (seen.state, seen.problems, seen.due_at) == ("unreadable", ["took_too_long"], None)
    monkeypatch.undo()
    assert (await inspecting.look(good)).state == "ok"


async def test_what_a_killed_process_unpacked_is_removed_at_the_next_start(
    inspecting: InspectingBench, tmp_path: Path
) -> None:
    abandoned = tmp_path / "data" / "scratch" / "abandoned"
    abandoned.mkdir(parents=True)
    (abandoned / "in-use").touch()
    (abandoned / "extracted").write_bytes(b"left behind")
    other = Scratch(tmp_path / "data" / "scratch")
    async with inspecting.parts.reader.scratch.folder() as mine:
        assert not abandoned.exists()
        async with other.folder() as theirs:
            assert mine.exists()
            assert theirs.exists()
    other.close()
