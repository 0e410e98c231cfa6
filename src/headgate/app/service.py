"""A running process: some or all of tick, workers, listeners and web, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.access.links import EntryLink
from headgate.app.addresses import WebAddress
from headgate.app.http import ProbeServer, Unsignalled, WebServer
from headgate.app.loops import Listeners, keep_going, run_tick
from headgate.app.parts import Parts
from headgate.jobs.worker import Worker
from headgate.kernel.logs import get_logger
from headgate.storage.channels import intake_settings
from headgate.storage.jobs import account_holds
from headgate.storage.lanes import lanes
from headgate.storage.listen import Listener
from headgate.web import WebParts, create_app
from headgate.web.http.health import Readiness

log = get_logger("app")

Role = Literal["tick", "work", "listen", "web"]
EVERYTHING: frozenset[Role] = frozenset({"tick", "work", "listen", "web"})


@dataclass
class Service:
    """The running parts of one process."""

    parts: Parts
    roles: frozenset[Role]
    address: WebAddress | None = None
    probes: socket.socket | None = None
    """Where a process without web part shows its health and metrics."""
    entry_link: EntryLink | None = None
    worker: Worker | None = None
    _running: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    """What must not end before the service does."""

    async def run(self, stop: asyncio.Event, on_ready: Callable[[], Awaitable[None]]) -> None:
        """Run until `stop`, or until a part fails; what was begun is finished or given back."""
        listener = Listener(self.parts.url, self.parts.clock)
        listener.subscribe(lanes.NOTICES, self.parts.lanes.hear)
        listener.subscribe(account_holds.NOTICES, self.parts.links.holds.hear)
        listener.subscribe(intake_settings.CHANNEL, self.parts.rules.hear)
        async with (
            self._http(listener),
            self._hear(listener),
            self._links(),
            self._loops(),
            self._worker(),
        ):
            await on_ready()
            await self._wait_for(stop)
            log.info("stopping")

    async def _wait_for(self, stop: asyncio.Event) -> None:
        """Wait for the stop; raise the error of a part that ends before."""
        stopping = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait({stopping, *self._running}, return_when=asyncio.FIRST_COMPLETED)
        if stopping in done:
            return
        stopping.cancel()
        for task in done:
            task.result()
            raise RuntimeError(f"the part {task.get_name()!r} ended by itself")

    def _start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._running.append(task)
        return task

    async def _not_ready(self) -> list[str]:
        if self.worker is not None and not self.worker.healthy:
            return ["A runner of the worker is not connected to the database."]
        return []

    @asynccontextmanager
    async def _links(self) -> AsyncGenerator[None, None]:
        """Give accounts back as soon as nothing here works for them: others wait for them."""
        try:
            yield
        finally:
            await self.parts.links.close()

    @asynccontextmanager
    async def _loops(self) -> AsyncGenerator[None, None]:
        tasks: list[asyncio.Task[None]] = []
        if "tick" in self.roles:
            work = keep_going(self.parts, "the tick", lambda: run_tick(self.parts))
            tasks.append(self._start(work, name="tick"))
        if "listen" in self.roles:
            listeners = keep_going(self.parts, "the listeners", Listeners(self.parts).run)
            tasks.append(self._start(listeners, name="listeners"))
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
        running = self._start(self.worker.run(), name="worker")
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
    async def _http(self, listener: Listener) -> AsyncGenerator[None, None]:
        server: Unsignalled
        if self.address is not None:
            server, listening = WebServer(create_app(self._web_parts(listener))), self.address.socket
        elif self.probes is not None:
            server, listening = ProbeServer(Readiness(self._web_parts(listener))), self.probes
        else:
            yield
            return
        serving = self._start(server.serve(sockets=[listening]), name="web")
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
            links=self.parts.links,
            push_addresses=self.parts.push_addresses,
            reader=self.parts.reader,
            entry_link=self.entry_link,
            plans_of=self.parts.links.plans_of,
            rules=self.parts.rules,
            slots=self.parts.settings.outflow.fire_concurrency,
            group_concurrency=self.parts.settings.outflow.group_concurrency,
            discover_every_s=self.parts.settings.intake.discover_every_s,
        )


def stop_on_signals() -> asyncio.Event:
    """Return an event that Ctrl-C and SIGTERM set; a second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        if stop.is_set():
            log.warning("asked to stop twice; ending at once")
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()

    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask, number)
    return stop
