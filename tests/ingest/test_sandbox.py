"""The sandbox: whatever a task does, it ends as an outcome, and the pool goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from headgate.domain.errors import Transient
from headgate.ingest.sandbox.pool import Sandbox
from headgate.ingest.sandbox.tasks import Answer, Failed, Failure, Limits, Task

HERE = Path(__file__).parent
QUICK = Limits(cpu_s=1, wall_s=120.0, memory_bytes=512 * 2**20, answer_bytes=8 * 2**20)


def drill(name: str, limits: Limits = QUICK) -> Task:
    return Task(f"sandbox_drills:{name}", limits)


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


async def eventually_gone(*pids: int) -> None:
    async with asyncio.timeout(120):
        while any(is_running(pid) for pid in pids):  # noqa: ASYNC110 - another process ends, without an event
            await asyncio.sleep(0.01)


async def test_a_task_gets_paths_and_parameters_and_answers_with_a_value_and_bytes(sandbox: Sandbox) -> None:
    result = await sandbox.run(drill("echo"), [Path("/a/b")], {"name": "grüße \udcff", "n": 3})
    assert result == Answer({"paths": ["/a/b"], "name": "grüße \udcff", "n": 3}, b"body")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("burn", "took_too_long"),
        ("die_of_a_bad_pointer", "crashed"),
        ("die_as_if_by_the_system", "out_of_memory"),
        ("leave", "crashed"),
        ("fail", "crashed"),
        ("flood", "crashed"),
        ("announce_too_much", "crashed"),
        ("babble", "crashed"),
        ("answer_without_json", "crashed"),
        ("answer_strangely", "crashed"),
        ("not_registered", "crashed"),
        ("no_such_function", "crashed"),
    ],
)
async def test_however_a_task_ends_the_next_one_is_answered(
    sandbox: Sandbox, name: str, failure: Failure
) -> None:
    async def ignore(chunk: bytes) -> None:
        """Chunks of a flood."""

    result = await sandbox.run(drill(name), [], chunks=ignore)
    assert isinstance(result, Failed)
    assert result.failure == failure
    assert await sandbox.run(drill("echo"), []) == Answer({"paths": []}, b"body")
    assert len(sandbox.pids) == 1


async def test_a_task_that_hangs_is_killed_from_outside_with_what_it_started(sandbox: Sandbox) -> None:
    heard: list[bytes] = []

    async def hear(chunk: bytes) -> None:
        heard.append(chunk)

    result = await sandbox.run(drill("wait_for_ever", Limits(wall_s=5.0)), [], chunks=hear)
    assert isinstance(result, Failed)
    assert result.failure == "took_too_long"
    await eventually_gone(*map(int, heard[0].split()))
    assert not any(is_running(int(pid)) for pid in heard[0].split())


async def test_time_that_the_reader_of_chunks_takes_does_not_count(sandbox: Sandbox) -> None:
    slow = asyncio.Event()

    async def take_slowly(chunk: bytes) -> None:
        # Longer than the limit of the task, which waits meanwhile.
        asyncio.get_running_loop().call_later(4.0, slow.set)
        await slow.wait()

    limits = Limits(wall_s=3.0, answer_bytes=2**20)
    result = await sandbox.run(drill("flood", limits), [], chunks=take_slowly)
    assert isinstance(result, Failed)
    assert "bytes" in result.detail


async def test_memory_has_a_limit_for_each_task(sandbox: Sandbox) -> None:
    size = 600 * 2**20
    small = await sandbox.run(drill("hoard", Limits(memory_bytes=300 * 2**20)), [], {"bytes": size})
    large = await sandbox.run(drill("hoard", Limits(memory_bytes=900 * 2**20)), [], {"bytes": size})
    again = await sandbox.run(drill("hoard", Limits(memory_bytes=300 * 2**20)), [], {"bytes": size})
    assert small == again == Failed("out_of_memory", "MemoryError")
    assert large == Answer(size)


async def test_a_task_writes_files_only_where_it_may_and_only_so_large(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    refused = await sandbox.run(drill("write_file"), [path], {"bytes": 1})
    allowed = await sandbox.run(drill("write_file", Limits(file_bytes=100)), [path], {"bytes": 100})
    too_large = await sandbox.run(drill("write_file", Limits(file_bytes=100)), [path], {"bytes": 101})
    assert isinstance(refused, Failed)
    assert allowed == Answer("written")
    assert isinstance(too_large, Failed)
    assert path.stat().st_size <= 100


async def test_open_files_have_a_limit(sandbox: Sandbox) -> None:
    few = await sandbox.run(drill("open_many"), [], {"count": 100})
    many = await sandbox.run(drill("open_many"), [], {"count": 300})
    assert few == Answer(100)
    assert isinstance(many, Failed)


async def test_what_libraries_print_does_not_end_up_between_frames(sandbox: Sandbox) -> None:
    assert await sandbox.run(drill("print_something"), []) == Answer("done")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_process_inherits_neither_descriptors_nor_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], Answer | Failed]
) -> None:
    async def describe() -> Answer | Failed:
        async with Sandbox(size=1, environment={"PYTHONPATH": str(HERE)}) as sandbox:
            return await sandbox.run(drill("describe_itself"), [])

    monkeypatch.setenv("HEADGATE_SECRET", "hunter2")
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        result = run(describe())
    assert isinstance(result, Answer)
    # Three standard streams, and the copy of stdout that answers go to.
    assert result.value["descriptors"] == [0, 1, 2, 3]
    assert "HEADGATE_SECRET" not in result.value["variables"]
    assert "HOME" not in result.value["variables"]
    assert result.value["folder"] == "/"
    assert result.value["leads_its_group"]


async def test_a_process_is_replaced_after_some_tasks() -> None:
    environment = {"PYTHONPATH": str(HERE)}
    async with Sandbox(size=1, tasks_per_process=2, environment=environment) as sandbox:
        pids = [await sandbox.run(drill("pid"), []) for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


async def test_more_tasks_than_processes_wait_for_their_turn() -> None:
    async with Sandbox(size=2, environment={"PYTHONPATH": str(HERE)}) as sandbox:
        results = await asyncio.gather(*(sandbox.run(drill("echo"), [], {"n": n}) for n in range(20)))
        assert len(sandbox.pids) == 2
    assert [result.value["n"] for result in results if isinstance(result, Answer)] == list(range(20))


async def test_a_process_that_died_while_idle_is_not_blamed_on_the_next_task(sandbox: Sandbox) -> None:
    (pid,) = sandbox.pids
    os.kill(pid, signal.SIGKILL)
    await eventually_gone(pid)
    async with asyncio.timeout(120):
        while sandbox.pids:  # noqa: ASYNC110 - the loop is about to hear of it
            await asyncio.sleep(0.01)
    assert await sandbox.run(drill("echo"), []) == Answer({"paths": []}, b"body")


async def test_cancelling_a_task_kills_its_process_and_nothing_else(sandbox: Sandbox) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    running = asyncio.ensure_future(sandbox.run(drill("wait_for_ever"), [], chunks=heard.put))
    pids = [int(pid) for pid in (await heard.get()).split()]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually_gone(*pids)
    assert await sandbox.run(drill("echo"), []) == Answer({"paths": []}, b"body")


async def test_closing_the_pool_leaves_no_process_behind() -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    async with Sandbox(size=2, environment={"PYTHONPATH": str(HERE)}) as sandbox:
        all_pids = set(sandbox.pids)
        running = asyncio.ensure_future(sandbox.run(drill("wait_for_ever"), [], chunks=heard.put))
        all_pids |= {int(pid) for pid in (await heard.get()).split()}
    with pytest.raises(Transient):
        await running
    with pytest.raises(Transient):
        await sandbox.run(drill("echo"), [])
    await eventually_gone(*all_pids)
    assert not sandbox.pids


PARENT = """
import asyncio, sys
from headgate.ingest.sandbox.pool import Sandbox
from headgate.ingest.sandbox.tasks import Task

async def main():
    async def show(chunk):
        print(chunk.decode(), *sandbox.pids, flush=True)

    async with Sandbox(size=2, environment={"PYTHONPATH": sys.argv[1]}) as sandbox:
        await sandbox.run(Task("sandbox_drills:wait_for_ever"), [], chunks=show)

asyncio.run(main())
"""


async def test_a_killed_parent_leaves_no_process_behind() -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(HERE)), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(set(pids)) == 3
    parent.kill()
    await parent.wait()
    await eventually_gone(*pids)
    assert not any(is_running(pid) for pid in pids)
    # To the end of its output, so that nothing of it is left when the loop is closed.
    await parent.communicate()


async def test_a_pool_whose_processes_cannot_start_says_so() -> None:
    with pytest.raises(Transient, match="did not start"):
        async with Sandbox(size=2, modules=["no_such_module"]):
            pass
