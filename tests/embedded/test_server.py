"""The embedded server's life: shared, stopped by the last one out, and unharmed by kill -9."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any, cast

import asyncpg
import psycopg
import pytest
from guests import AttachProcess, make_server, postmaster_pid, wait_until

from headgate.domain.errors import UserError
from headgate.storage.embedded import EmbeddedServer

pytestmark = pytest.mark.long


def _remember(url: str, word: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table if not exists word (word text)")
        connection.execute("insert into word values (%s)", (word,))


def _words(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("select word from word order by word").fetchall()]


async def test_both_drivers_connect_and_the_rows_stay(folder: Path) -> None:
    async with make_server(folder).attach() as url:
        _remember(url, "kept")
        connect: Any = cast("Any", asyncpg).connect
        connection = await connect(url)
        assert await connection.fetchval("select current_database()") == "headgate"
        await connection.close()
    server = make_server(folder)
    assert not server.is_running()
    async with server.attach() as url:
        assert _words(url) == ["kept"]


def test_two_processes_share_it_and_the_last_one_out_stops_it(
    folder: Path, attach_process: AttachProcess
) -> None:
    first, second = attach_process(), attach_process()
    pid = postmaster_pid(folder)
    _remember(first.url, "shared")

    first.leave()
    assert make_server(folder).is_running()
    assert _words(second.url) == ["shared"]
    assert postmaster_pid(folder) == pid

    second.leave()
    assert not make_server(folder).is_running()
    assert not (folder / "postgres/server/cluster/postmaster.pid").exists()


def test_two_users_in_one_process_count_as_two(folder: Path) -> None:
    first, second = make_server(folder), make_server(folder)
    first.start()
    url = second.start()
    first.stop()
    _remember(url, "still here")
    assert _words(url) == ["still here"]
    second.stop()
    assert not second.is_running()


def test_starting_at_the_same_moment_makes_one_server(folder: Path, attach_process: AttachProcess) -> None:
    async def start_all() -> list[str]:
        guests = await asyncio.gather(*(asyncio.to_thread(attach_process) for _ in range(3)))
        return [guest.url for guest in guests]

    assert len(set(asyncio.run(start_all()))) == 1


def test_after_kill_9_of_every_user_the_next_one_finds_it_and_stops_it(
    folder: Path, attach_process: AttachProcess
) -> None:
    first, second = attach_process(), attach_process()
    _remember(first.url, "committed")
    pid = postmaster_pid(folder)
    first.kill()
    second.kill()

    server = make_server(folder)
    assert server.is_running()
    url = server.start()
    assert postmaster_pid(folder) == pid
    assert _words(url) == ["committed"]
    server.stop()
    assert not server.is_running()


def test_after_kill_9_of_postgres_committed_rows_are_recovered(
    folder: Path, attach_process: AttachProcess
) -> None:
    guest = attach_process(durable=True)
    _remember(guest.url, "committed")
    guest.kill()
    os.kill(postmaster_pid(folder), signal.SIGKILL)

    server = make_server(folder, durable=True)
    url = server.start()
    assert _words(url) == ["committed"]
    server.stop()


async def test_an_attached_user_starts_it_again_when_it_dies(folder: Path) -> None:
    async with make_server(folder, durable=True).attach() as url:
        _remember(url, "before")
        pid = postmaster_pid(folder)
        os.kill(pid, signal.SIGKILL)

        def is_back() -> bool:
            try:
                return _words(url) == ["before"]
            except psycopg.OperationalError:
                return False

        await asyncio.to_thread(wait_until, is_back)
        assert postmaster_pid(folder) != pid
    assert not make_server(folder).is_running()


def test_a_process_id_that_somebody_else_has_now_is_no_server(folder: Path) -> None:
    server = make_server(folder)
    _remember(server.start(), "kept")
    pid_file = folder / "postgres/server/cluster/postmaster.pid"
    socket_lock = folder / "postgres/server/run/.s.PGSQL.5432.lock"
    content, socket_content = pid_file.read_text(), socket_lock.read_text()
    server.stop()

    owner = pid_file.parent.stat()
    with subprocess.Popen(["sleep", "60"], user=owner.st_uid) as stranger:
        for path, text in ((pid_file, content), (socket_lock, socket_content)):
            path.write_text("\n".join([str(stranger.pid), *text.splitlines()[1:]]) + "\n")
            os.chown(path, owner.st_uid, owner.st_gid)
        again = make_server(folder)
        assert not again.is_running()
        assert _words(again.start()) == ["kept"]
        again.stop()
        assert stranger.poll() is None
        stranger.kill()


def test_it_is_reachable_by_its_owner_with_the_password_alone(folder: Path) -> None:
    server = make_server(folder)
    url = server.start()
    sockets = folder / "postgres/server/run"
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE((sockets / ".s.PGSQL.5432").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "postgres/password").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "postgres").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "postgres/setup-password").stat().st_mode) == 0o600
    with psycopg.connect(server.setup_url()) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)
        rules = connection.execute(
            "select distinct type, auth_method from pg_hba_file_rules order by 1"
        ).fetchall()
        assert rules == [("host", "reject"), ("local", "scram-sha-256")]
        assert connection.execute("show data_checksums").fetchone() == ("on",)
        assert connection.execute("show server_encoding").fetchone() == ("UTF8",)
    for wrong in (
        f"postgresql://headgate@/headgate?host={sockets}",
        url.replace("//headgate:", "//headgate:x"),
    ):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(wrong)
    server.stop()


def test_it_listens_on_no_port(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    children = Path(f"/proc/{postmaster_pid(folder)}/fd")
    inodes = {str(path.readlink()) for path in children.iterdir()}
    tcp = [
        line.split()[9]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    assert not {f"socket:[{inode}]" for inode in tcp} & inodes
    server.stop()


def test_a_long_path_or_a_comma_gets_a_short_private_socket_folder(folder: Path) -> None:
    for name in ("x" * 100, "a,b"):
        server = make_server(folder / name)
        url = server.start()
        with psycopg.connect(url) as connection:
            sockets = Path(connection.info.host)
        assert sockets.parent == Path("/tmp")
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        server.stop()
        assert not sockets.exists()


def test_a_socket_folder_that_somebody_else_made_is_refused(folder: Path) -> None:
    server = make_server(folder / ("x" * 100))
    server.start()
    server.stop()
    sockets = server._layout.sockets  # pyright: ignore[reportPrivateUsage] - its name is a hash
    sockets.mkdir(mode=0o777)
    sockets.chmod(0o777)
    with pytest.raises(UserError, match="mode 700"):
        server.start()
    sockets.rmdir()


def test_another_major_version_is_refused_and_not_touched(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    server.stop()
    version = folder / "postgres/server/cluster/PG_VERSION"
    version.write_text("17\n")
    before = sorted((path, path.lstat().st_mtime_ns) for path in folder.rglob("*"))
    with pytest.raises(UserError, match=r"PostgreSQL 17.*restore the backup") as refused:
        make_server(folder).start()
    assert refused.value.command == "headgate db restore"
    assert sorted((path, path.lstat().st_mtime_ns) for path in folder.rglob("*")) == before


def test_a_failed_start_says_why_and_leaves_nothing_running(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    server.stop()
    (folder / "postgres/server/cluster/global/pg_control").unlink()
    with pytest.raises(UserError, match=r"did not start: .*pg_control"):
        server.start()
    assert not server.is_running()


def test_an_interrupted_making_is_begun_anew(folder: Path) -> None:
    half = folder / "postgres/server/cluster.new"
    server = make_server(folder)
    server.start()
    server.stop()
    (folder / "postgres/server/cluster").rename(half)
    (half / "PG_VERSION").unlink()
    url = server.start()
    _remember(url, "new")
    server.stop()
    assert not half.exists()


async def test_a_cancelled_attach_leaves_nothing_running(folder: Path) -> None:
    server = make_server(folder)

    async def attach() -> None:
        async with server.attach():
            raise AssertionError("cancelled before")

    task = asyncio.create_task(attach())
    await asyncio.to_thread(wait_until, (folder / "postgres/start.lock").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not server.is_running()


def test_logs_are_bounded(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    logs = folder / "postgres/server/log"
    for number in range(20):
        (logs / f"postgresql-2020-{number:02}.log").touch()
    server.stop()
    server.start()
    assert len(list(logs.glob("*.log"))) <= 9
    server.stop()


def test_ctrl_c_in_the_terminal_does_not_reach_it(folder: Path) -> None:
    server = make_server(folder)
    server.start()
    assert os.getsid(postmaster_pid(folder)) == postmaster_pid(folder)
    server.stop()


def test_asking_whether_it_runs_makes_nothing(folder: Path) -> None:
    server = EmbeddedServer(folder / "none")
    assert not server.is_running()
    assert not server.exists()
    assert not (folder / "none").exists()
