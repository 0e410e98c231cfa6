"""A running process: some or all of tick, workers, listeners and web, until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from headgate.app.loops import Listeners, keep_going, run_tick
from headgate.app.parts import Parts
from headgate.domain.errors import UserError
from headgate.jobs.worker import Worker
from headgate.kernel.logs import get_logger
from headgate.storage import lanes
from headgate.storage.listen import Listener
from headgate.web import WebParts, create_app
from headgate.web.links import EntryLink
from headgate.web.server import Server

log = get_logger("app")

Role = Literal["tick", "work", "listen", "web"]
EVERYTHING: frozenset[Role] = frozenset({"tick", "work", "listen", "web"})
PORTS_TO_TRY = 50


@dataclass(frozen=True)
class WebAddress:
    """Where the web part listens."""

    socket: socket.socket
    host: str
    port: int
    wanted_port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def bind_web(host: str, port: int) -> WebAddress:
    """Take the wanted port, or the next free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + PORTS_TO_TRY, 65536)):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(128)
        except OSError as error:
            listening.close()
            if error.errno == errno.EADDRINUSE:
                continue
            raise UserError(
                f"The web server cannot listen on {host} port {candidate}: {error.strerror}.",
                remedy="Set HEADGATE_WEB_HOST and HEADGATE_WEB_PORT to an address of this machine.",
            ) from error
        listening.setblocking(False)
        return WebAddress(listening, host, candidate, port)
    raise UserError(
        f"No port from {port} to {port + PORTS_TO_TRY - 1} is free.",
        remedy="Set HEADGATE_WEB_PORT to another.",
    )


class QuietServer(Server):
    """The HTTP server without signal handlers of its own: the service stops it."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@dataclass
class Service:
    """The running parts of one process."""

    parts: Parts
    roles: frozenset[Role]
    address: WebAddress | None = None
    entry_link: EntryLink | None = None
    worker: Worker | None = None

    async def run(self, stop: asyncio.Event, on_ready: Callable[[], Awaitable[None]]) -> None:
        """Run until `stop`; what was begun is finished or given back."""
        listener = Listener(self.parts.url, self.parts.clock)
        listener.subscribe(lanes.NOTICES, self.parts.lanes.hear)
        async with self._web(listener), self._hear(listener), self._loops(), self._worker():
            await on_ready()
            await stop.wait()
            log.info("stopping")

    async def _not_ready(self) -> list[str]:
        if self.worker is not None and not self.worker.healthy:
            return ["A runner of the worker is not connected to the database."]
        return []

    @asynccontextmanager
    async def _loops(self) -> AsyncGenerator[None, None]:
        tasks: list[asyncio.Task[None]] = []
        if "tick" in self.roles:
            work = keep_going(self.parts, "the tick", lambda: run_tick(self.parts))
            tasks.append(asyncio.create_task(work, name="tick"))
        if "listen" in self.roles:
            listeners = keep_going(self.parts, "the listeners", Listeners(self.parts).run)
            tasks.append(asyncio.create_task(listeners, name="listeners"))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def _worker(self) -> AsyncGenerator[None, None]:
        if "work" not in self.roles:
            yield
            return
        self.worker = self.parts.worker()
        running = asyncio.create_task(self.worker.run(), name="worker")
        try:
            yield
        finally:
            await self.worker.stop()
            await running

    @asynccontextmanager
    async def _hear(self, listener: Listener) -> AsyncGenerator[None, None]:
        listener.start()
        try:
            yield
        finally:
            await listener.stop()

    @asynccontextmanager
    async def _web(self, listener: Listener) -> AsyncGenerator[None, None]:
        if self.address is None:
            yield
            return
        server = QuietServer(create_app(self._web_parts(listener)))
        serving = asyncio.create_task(server.serve(sockets=[self.address.socket]), name="web")
        try:
            yield
        finally:
            server.should_exit = True
            await serving

    def _web_parts(self, listener: Listener) -> WebParts:
        return WebParts(
            database=self.parts.database,
            clock=self.parts.clock,
            ids=self.parts.ids,
            settings=self.parts.settings.web,
            data_dir=self.parts.settings.data.dir,
            listener=listener,
            ready=self._not_ready,
            entry_link=self.entry_link,
        )


def stop_on_signals() -> asyncio.Event:
    """Return an event that Ctrl-C and SIGTERM set; a second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> None:
        if stop.is_set():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        stop.set()

    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask)
    return stop
