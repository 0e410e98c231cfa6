"""Start, share and stop the embedded server.

Each attached process holds `users.lock` shared; the last one out stops the server. The server's own
processes hold `server.lock`, which they inherit: its life is told by a lock and not by a process id, which a
reboot or a new container gives to somebody else. Both locks end with their holders, also by kill -9.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg

from headgate.domain.errors import UserError
from headgate.kernel.logs import get_logger
from headgate.storage.embedded.cluster import (
    check_version,
    cluster_version,
    make_cluster,
    read_password,
    server_settings,
)
from headgate.storage.embedded.layout import ROLE, SUPERUSER, Layout, make_folders
from headgate.storage.embedded.locks import (
    LockWait,
    is_held,
    open_private,
    serialized,
    take_if_free,
    try_lock,
)
from headgate.storage.embedded.postmaster import (
    clear_remains,
    is_alive,
    last_words,
    prune_logs,
    read_postmaster,
)
from headgate.storage.embedded.programs import Programs, choose_user, server_programs
from headgate.storage.embedded.setup import set_up

log = get_logger("embedded")

DATABASE = "headgate"
_PAUSE_S = 0.05
_TICKS_BETWEEN_LINES = round(5 / _PAUSE_S)
_TICKS_FOR_ORPHANS = round(60 / _PAUSE_S)
_FAST_STOP_S = 20
_IMMEDIATE_STOP_S = 10
_CHECK_S = 1.0
_MAX_PAUSE_S = 30.0


class EmbeddedServer:
    """The server of one data folder, as one of its users sees it."""

    def __init__(self, data_dir: Path, *, shared_memory_mb: int = 128, fsync: bool = True) -> None:
        self._data_dir = data_dir.absolute()
        self._layout = Layout(self._data_dir / "postgres")
        self._shared_memory_mb = shared_memory_mb
        self._fsync = fsync
        self._users: int | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def exists(self) -> bool:
        """Tell whether there is a database folder at all."""
        return cluster_version(self._layout) is not None

    def is_running(self) -> bool:
        """Tell whether a process of the server lives; changes nothing."""
        return is_held(self._layout.server_lock)

    def url(self, database: str = DATABASE) -> str:
        """Return the application's address of a database on the server, with its password."""
        return self._layout.url(role=ROLE, database=database, password=read_password(self._layout.password))

    def setup_url(self) -> str:
        """Return the superuser's address, for setup only: it can run commands on the machine."""
        password = read_password(self._layout.setup_password)
        return self._layout.url(role=SUPERUSER, database="postgres", password=password)

    def allow_databases(self) -> None:
        """Let the application's role create databases, on a server for benchmarks and plays."""
        with psycopg.connect(self.setup_url(), autocommit=True) as connection:
            # A database is not dropped under a vacuum without the second right.
            connection.execute(f"alter role {ROLE} createdb; grant pg_signal_backend to {ROLE}".encode())

    @asynccontextmanager
    async def attach(self) -> AsyncGenerator[str, None]:
        """Be a user of the server within the block: it runs, and is started again if it dies."""
        waiting = LockWait()
        url = await self._start_in_thread(waiting)
        keeper = asyncio.create_task(self._keep_running(waiting), name="embedded database")
        try:
            yield url
        finally:
            waiting.give_up()
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await asyncio.to_thread(self.stop)

    def start(self, waiting: LockWait | None = None) -> str:
        """Attach: start the server unless it runs, wait until it is ready, return its address."""
        if self._users is not None:
            raise RuntimeError("this embedded server is attached already")
        waiting = waiting or LockWait()
        programs = self._prepare()
        with serialized(self._layout.start_lock, waiting):
            self._users = open_private(self._layout.users_lock)
            try:
                try_lock(self._users, exclusive=False)
                self._ensure_running(programs, waiting)
                self._ensure_database()
            except BaseException:
                self._leave(programs)
                raise
        return self.url()

    def stop(self) -> None:
        """Detach, and stop the server if no other process is attached."""
        if self._users is None:
            return
        programs = self._prepare()
        with serialized(self._layout.start_lock, LockWait()):
            self._leave(programs)

    async def _start_in_thread(self, waiting: LockWait) -> str:
        starting = asyncio.create_task(asyncio.to_thread(self.start, waiting))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            waiting.give_up()
            with suppress(Exception):
                await starting
            await asyncio.to_thread(self.stop)
            raise

    async def _keep_running(self, waiting: LockWait) -> None:
        pause_s = _CHECK_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = _CHECK_S
            if self.is_running():
                continue
            log.warning("the embedded database ended by itself; starting it again")
            try:
                await asyncio.to_thread(self._restart, waiting)
            except UserError as error:
                log.error("the embedded database does not start", reason=str(error))  # noqa: TRY400
                pause_s = _MAX_PAUSE_S

    def _restart(self, waiting: LockWait) -> None:
        programs = self._prepare()
        with serialized(self._layout.start_lock, waiting):
            self._ensure_running(programs, waiting)

    def _prepare(self) -> Programs:
        version = cluster_version(self._layout)
        if version is not None:
            check_version(version)
        user = choose_user(self._layout.server, self._data_dir)
        try:
            make_folders(self._layout, user)
        except OSError as error:
            raise UserError(
                f"The data folder cannot be used: {error}.",
                remedy="Fix its permissions, or set HEADGATE_DATA_DIR to your own folder.",
            ) from error
        return server_programs(user)

    def _ensure_running(self, programs: Programs, waiting: LockWait) -> None:
        """Wait for a server that is ready; launch one when none lives."""
        launched = False
        for tick in itertools.count(1):
            free_lock = take_if_free(self._layout.server_lock)
            if free_lock is not None:
                if launched:
                    os.close(free_lock)
                    raise self._did_not_start()
                self._launch(programs, free_lock)
                launched = True
            elif self._is_ready():
                return
            self._note_wait(tick)
            waiting.pause(_PAUSE_S if tick > 1 else 0.02)

    def _launch(self, programs: Programs, server_lock: int) -> None:
        """Start a server that inherits the lock; our own copy of it is closed."""
        try:
            if cluster_version(self._layout) is None:
                log.info("making the embedded database", folder=str(self._layout.cluster))
                make_cluster(self._layout, programs, fsync=self._fsync)
            clear_remains(self._layout)
            prune_logs(self._layout)
            output = open_private(self._layout.start_log)
            try:
                os.ftruncate(output, 0)
                self._child = programs.launch(
                    "postgres",
                    *self._arguments(programs),
                    folder=self._layout.cluster,
                    output=output,
                    inherited=server_lock,
                )
            finally:
                os.close(output)
        finally:
            os.close(server_lock)

    def _arguments(self, programs: Programs) -> list[str]:
        sockets = self._layout.sockets
        settings = server_settings(
            shared_memory_mb=self._shared_memory_mb,
            fsync=self._fsync,
            sockets="../run" if sockets.parent == self._layout.server else str(sockets),
            log_folder="../log",
        )
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return ["-D", programs.cluster_argument(self._layout.cluster), *options]

    def _is_ready(self) -> bool:
        """Ask the file for the state and the socket for the truth: the file outlives a kill -9."""
        postmaster = read_postmaster(self._layout.pid_file)
        if postmaster is None or postmaster.state != "ready":
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self._layout.socket)) == 0

    def _note_wait(self, tick: int) -> None:
        if tick % _TICKS_BETWEEN_LINES:
            return
        log.info("waiting for the embedded database to be ready", it_says=last_words(self._layout))
        postmaster = read_postmaster(self._layout.pid_file)
        if tick >= _TICKS_FOR_ORPHANS and not (postmaster and is_alive(postmaster.pid)):
            raise UserError(
                "The embedded database's main process is dead, but other processes of it do not end.",
                remedy=f"End the processes that hold {self._layout.server_lock} (`fuser` lists them), then"
                " start again; committed rows are safe.",
            )

    def _did_not_start(self) -> UserError:
        return UserError(
            f"The embedded database did not start: {last_words(self._layout)}.",
            remedy=f"Check the disk, the memory and the logs in {self._layout.log}.",
            command="headgate doctor",
        )

    def _ensure_database(self) -> None:
        try:
            with psycopg.connect(self.setup_url(), autocommit=True, connect_timeout=30) as connection:
                set_up(connection, database=DATABASE, password=read_password(self._layout.password))
        except psycopg.OperationalError as error:
            raise UserError(
                f"The embedded database refuses the connection: {str(error).strip()}",
                remedy=f"Check the logs in {self._layout.log}.",
            ) from error

    def _leave(self, programs: Programs) -> None:
        """Give back our share of the users' lock; without other users, stop. Needs the start lock."""
        if self._users is None:
            return
        os.close(self._users)
        self._users = None
        alone = take_if_free(self._layout.users_lock)
        if alone is None:
            return
        os.close(alone)
        self._shut_down(programs)

    def _shut_down(self, programs: Programs) -> None:
        for mode, patience_s in (("fast", _FAST_STOP_S), ("immediate", _IMMEDIATE_STOP_S)):
            if self._is_gone():
                break
            # As the server's own user, so that a forged process id can harm no one else.
            programs.run(
                "pg_ctl", "stop", "-D", ".", "-m", mode, "-t", str(patience_s), folder=self._layout.cluster
            )
        if not self._is_gone():
            log.error("the embedded database does not stop", folder=str(self._layout.root))
        if self._layout.sockets.parent != self._layout.server:
            with suppress(OSError):
                self._layout.sockets.rmdir()

    def _is_gone(self) -> bool:
        """Wait a moment for the last of the server's processes, and collect our child's exit status."""
        waiting = LockWait()
        for _ in range(40):
            if self._child is not None:
                self._child.poll()
            if not self.is_running():
                return True
            postmaster = read_postmaster(self._layout.pid_file)
            if postmaster is not None and is_alive(postmaster.pid):
                return False
            waiting.pause()
        return False
