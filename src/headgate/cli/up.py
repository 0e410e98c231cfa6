"""`headgate up`, `worker` and `web`: everything in one process, or parts for several machines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.app.parts import Parts
    from headgate.app.service import Role, Service
    from headgate.kernel.settings import Settings


def up() -> None:
    """Run everything in one process: database, workers, listeners and the web pages."""
    from headgate.app.service import EVERYTHING

    run_quickly(_serve(_settings(), EVERYTHING))


def worker() -> None:
    """Run only a worker: jobs, schedule and listeners. Run any number, on any machine."""
    run_quickly(_serve(_settings(), frozenset({"tick", "work", "listen"})))


def web() -> None:
    """Run only the web server."""
    run_quickly(_serve(_settings(), frozenset({"web"})))


def _settings() -> Settings:
    from headgate.kernel.settings import load_settings

    return load_settings()


def run_quickly(work: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


async def _serve(settings: Settings, roles: frozenset[Role]) -> None:
    from headgate.app.connectors import load_connectors
    from headgate.app.parts import open_parts
    from headgate.app.product_time import find_clock
    from headgate.app.server import open_server
    from headgate.app.service import stop_on_signals
    from headgate.kernel.clock import RealClock
    from headgate.kernel.collector import collect_seldom
    from headgate.storage.database import wait_for_server
    from headgate.storage.migrate import migrate

    prepare_folder(settings.data.dir)
    async with open_server(settings) as url:
        await wait_for_server(url, RealClock())
        await migrate(url)
        clock = await find_clock(url)
        async with open_parts(settings, url, clock=clock, connectors=load_connectors(settings)) as parts:
            service = build_service(parts, roles)
            collect_seldom()
            await service.run(stop_on_signals(), lambda: announce(service))


def build_service(parts: Parts, roles: frozenset[Role]) -> Service:
    from headgate.app.addresses import bind_probes, bind_web
    from headgate.app.service import Service

    settings = parts.settings
    if "web" in roles:
        return Service(parts, roles, address=bind_web(settings.web.host, settings.web.port))
    port = settings.jobs.metrics_port
    return Service(parts, roles, probes=bind_probes(port) if port else None)


async def announce(service: Service) -> None:
    """Print the address, and on the first start the link that makes the administrator."""
    from headgate.access.links import create_setup_link

    address = service.address
    if address is None:
        say("The workers are running. Ctrl-C stops them.")
        return
    base = service.parts.settings.web.public_url or address.url
    if service.entry_link is not None:
        say("Open this address; it signs you in:")
        print(f"{base}{service.entry_link.path}", flush=True)
    elif setup := await create_setup_link(service.parts.database):
        print(f"{base}{setup}", flush=True)
        say("Open this address once, within a day, to create the administrator.")
    else:
        print(base, flush=True)
    if address.port != address.wanted_port:
        say(f"Port {address.wanted_port} is taken; this is port {address.port}.")


def prepare_folder(folder: Path) -> None:
    from headgate.domain.errors import UserError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The data folder {folder} cannot be created: {error.strerror}.",
            remedy="Set HEADGATE_DATA_DIR to a folder that you may write to.",
        ) from error


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
