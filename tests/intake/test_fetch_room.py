"""Room for downloads: promised to whole sets, kept once they have begun, and a disk that is really full."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from fetch_bench import FetchBench, content_of, named, open_fetch_bench

from headgate.storage.blobs.room import NoRoom
from headgate.storage.database import Database
from headgate.testing.platform.errors import SimDisconnected

SMALL_DISK = "HEADGATE_TEST_SMALL_DISK"
DISK_MIB = 16
ALL_OF_IT = {"HEADGATE_FILES_KEEP_FREE_PERCENT": "0", "HEADGATE_FILES_KEEP_FREE_GIB": "0"}


@pytest.fixture
async def fetching(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FetchBench]:
    """A disk on which nobody else writes, of which a tenth is kept free."""
    disk = SimpleNamespace(total=10**12, used=0, free=10**11 + 10**9)

    def measure(_path: object) -> SimpleNamespace:
        return disk

    monkeypatch.setattr(shutil, "disk_usage", measure)
    async with open_fetch_bench(database, database_url, tmp_path) as bench:
        yield bench


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that can be filled: a mounted one of at most a few MiB, or one that root mounts here."""
    if given := os.environ.get(SMALL_DISK):
        with tempfile.TemporaryDirectory(dir=given) as made:
            yield Path(made)
        return
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "headgate-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root mounts a disk; HEADGATE_TEST_SMALL_DISK names one that is mounted")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def _leave(bench: FetchBench, left_bytes: int) -> None:
    """Promise all room but so much to something else."""
    room = bench.parts.files.room
    await room.reserve("elsewhere", (await room.measure()).left_bytes - left_bytes)


async def _free(bench: FetchBench) -> None:
    async with bench.database.transaction() as tx:
        await bench.parts.files.room.release(tx, ["elsewhere"])


@pytest.mark.parametrize("last", [2_000_000, 200_000], ids=["large", "small"])
async def test_a_set_gets_room_for_all_volumes_before_its_first_byte(fetching: FetchBench, last: int) -> None:
    sizes = [2_000_000, 2_000_000, last]
    volumes = [named(f"pack.part{n}.rar", size) for n, size in enumerate(sizes, start=1)]
    await fetching.hear(fetching.world.post("packs", files=volumes))
    await fetching.hear(fetching.world.post("packs", files=[named("lone.zip", 1_500_000)]))
    await _leave(fetching, sum(sizes) - 1)
    await fetching.work()
    # What is smaller passes.
    assert fetching.calls("download") == 1
    assert await fetching.ask_column("waiting") == [
        f"pack.part{n}.rar room {sum(sizes)}" for n in range(1, 4)
    ]
    await _free(fetching)
    await fetching.rest(120)
    assert [state.split()[1] for state in await fetching.states()] == ["stored"] * 4
    assert await fetching.ask_column("reserved") == [0]


async def test_a_set_that_has_begun_keeps_its_room_however_long_the_rest_waits(fetching: FetchBench) -> None:
    volumes = [named(f"pack.part{n}.rar", 2_000_000) for n in range(1, 4)]
    await fetching.hear(fetching.world.post("packs", files=volumes))
    await _leave(fetching, 6_000_000)
    downloads = 0

    async def lose_the_line(point: str) -> None:
        nonlocal downloads
        downloads += point == "download.began"
        if downloads > 1:
            raise SimDisconnected("download")

    fetching.world.on_point = lose_the_line
    await fetching.work()
    assert [state.split()[1] for state in await fetching.states()] == ["stored", "wanted", "wanted"]
    await fetching.alter("end_reservations")
    await fetching.alter("end_reservations_of_others")
    with pytest.raises(NoRoom):
        await _leave(fetching, 2_000_000)
    fetching.mend()
    await fetching.rest(400)
    assert [state.split()[1] for state in await fetching.states()] == ["stored"] * 3


async def test_what_has_not_begun_and_what_is_off_keep_no_room_for_ever(fetching: FetchBench) -> None:
    volumes = [named(f"pack.part{n}.rar", 2_000_000) for n in range(1, 4)]
    await fetching.hear(fetching.world.post("packs", files=volumes))
    room = fetching.parts.files.room
    fetching.fail("download.began", SimDisconnected("download"))
    await fetching.work()
    await fetching.alter("end_reservations")
    await room.reserve("asks", 1)
    assert (await room.measure()).promised_bytes == 1


@pytest.mark.parametrize("sizes", [[8_000_000], [400_000] * 5], ids=["one large", "several small"])
async def test_a_disk_that_fills_up_in_the_middle_makes_files_wait_and_loses_nothing(
    database: Database, database_url: str, small_disk: Path, sizes: list[int]
) -> None:
    files = [named(f"{n}.zip", size) for n, size in enumerate(sizes)]
    filler = small_disk / "filler"

    async def fill() -> None:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(4096))

    async with open_fetch_bench(database, database_url, small_disk, environment=ALL_OF_IT) as fetching:
        await fetching.hear(fetching.world.post("packs", files=files))
        fetching.at_next("download.chunk", fill)
        await fetching.work()
        assert shutil.disk_usage(small_disk).free == 0
        assert {line.split()[1] for line in await fetching.ask_column("waiting")} == {"room"}
        assert all(" 0 0 " in line for line in await fetching.ask_column("attempts"))
        assert await fetching.read_stored() == set()
        filler.unlink()
        await fetching.rest(120)
        assert {state.split()[1] for state in await fetching.states()} == {"stored"}
        assert await fetching.read_stored() == {content_of(file) for file in files}
        assert fetching.spools() == []
