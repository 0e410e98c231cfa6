"""Starting Headgate: everything at once, the demo, or the parts for several machines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headgate.app.parts import Parts
    from headgate.app.service import Role, Service
    from headgate.connectors.protocol import Connector
    from headgate.kernel.settings import Settings


def up() -> None:
    """Run everything in one process: database, workers, listeners and the web pages."""
    from headgate.app.service import EVERYTHING

    _run(_serve(_settings(), EVERYTHING))


def worker() -> None:
    """Run only workers, tick and listeners; any number of these on any machine."""
    _run(_serve(_settings(), frozenset({"tick", "work", "listen"})))


def web() -> None:
    """Run only the web server."""
    _run(_serve(_settings(), frozenset({"web"})))


def demo(
    fresh: Annotated[bool, typer.Option(help="Begin with an empty library.")] = False,
) -> None:
    """Run everything with a simulated world, in quick time, in a data folder of its own."""
    settings = _demo_settings(_settings())
    if fresh:
        _remove_demo(settings)
    _run(_serve_demo(settings))


def _demo_settings(settings: Settings) -> Settings:
    """Return settings under which the demo touches nothing but a folder of its own, and is seen only here."""
    from dataclasses import replace

    if settings.database.url is not None:
        _say("The demo has a database of its own; HEADGATE_DATABASE_URL is not used.")
    return replace(
        settings.replace_data_dir(settings.data.dir / "demo"),
        database=settings.database.model_copy(update={"url": None}),
        web=settings.web.model_copy(update={"public_url": ""}),
    )


def _remove_demo(settings: Settings) -> None:
    import shutil

    from headgate.app.server import is_embedded_running
    from headgate.domain.errors import UserError

    if is_embedded_running(settings):
        raise UserError(
            "The demo is running; its library cannot be removed.",
            remedy="Stop it with Ctrl-C. If it was killed, run `headgate demo` and stop that: its database"
            " ends with it.",
        )
    if settings.data.dir.exists():
        shutil.rmtree(settings.data.dir)


def _settings() -> Settings:
    from headgate.kernel.settings import load_settings

    return load_settings()


def _run(work: Coroutine[Any, Any, None]) -> None:
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
    from headgate.kernel.clock import RealClock
    from headgate.kernel.collector import collect_seldom
    from headgate.storage.database import wait_for_server
    from headgate.storage.migrate import migrate

    _prepare_folder(settings.data.dir)
    async with open_server(settings) as url:
        await wait_for_server(url, RealClock())
        await migrate(url)
        clock = await find_clock(url)
        async with open_parts(settings, url, clock=clock, connectors=load_connectors(settings)) as parts:
            service = _service(parts, roles)
            collect_seldom()
            await service.run(_stop(), lambda: _announce(service))


async def _serve_demo(settings: Settings) -> None:
    from headgate.app.parts import open_parts
    from headgate.app.product_time import anchored_clock, start_quick_time
    from headgate.app.server import open_server
    from headgate.app.service import EVERYTHING
    from headgate.cli.demo_plans import follow_series, plan_reminders
    from headgate.kernel.collector import collect_seldom
    from headgate.storage.migrate import migrate
    from headgate.testing import SimulatedConnector, build_demo_world
    from headgate.web.links import create_entry_link

    _prepare_folder(settings.data.dir)
    _say("Starting the demo: a simulated world, sped up. Ctrl-C stops it and its database.")
    async with open_server(settings) as url:
        await migrate(url)
        anchor = await start_quick_time(url, speed=settings.demo.speed)
        clock = anchored_clock(anchor)
        world = build_demo_world(settings.demo.seed, clock, opened_at=anchor.opened_at)
        connectors: Mapping[str, Connector] = {"simulated": SimulatedConnector(world)}
        async with open_parts(settings, url, clock=clock, connectors=connectors) as parts:
            await _follow_everything(parts)
            await plan_reminders(parts)
            service = _service(parts, EVERYTHING)
            service.entry_link = await create_entry_link(parts.database, parts.ids)
            await follow_series(parts)
            collect_seldom()
            await service.run(_stop(), lambda: _announce(service))


async def _follow_everything(parts: Parts) -> None:
    """Give the demo's library something to follow: every stream that its accounts can see."""
    from headgate.intake.discovery import follow_all
    from headgate.testing.demo_world import ACCOUNTS

    for name in ACCOUNTS:
        await follow_all(parts.database, parts.links, parts.ids, parts.clock, name=name)


def _service(parts: Parts, roles: frozenset[Role]) -> Service:
    from headgate.app.addresses import bind_probes, bind_web
    from headgate.app.service import Service

    settings = parts.settings
    if "web" in roles:
        return Service(parts, roles, address=bind_web(settings.web.host, settings.web.port))
    port = settings.jobs.metrics_port
    return Service(parts, roles, probes=bind_probes(port) if port else None)


def _stop() -> asyncio.Event:
    from headgate.app.service import stop_on_signals

    return stop_on_signals()


async def _announce(service: Service) -> None:
    """Print the address, and on the first start the link that makes the administrator."""
    from headgate.web.links import create_setup_link

    address = service.address
    if address is None:
        _say("The workers are running. Ctrl-C stops them.")
        return
    base = service.parts.settings.web.public_url or address.url
    if service.entry_link is not None:
        _say("Open this address; it signs you in:")
        print(f"{base}{service.entry_link.path}", flush=True)
    elif setup := await create_setup_link(service.parts.database):
        print(f"{base}{setup}", flush=True)
        _say("Open this address once, within a day, to create the administrator.")
    else:
        print(base, flush=True)
    if address.port != address.wanted_port:
        _say(f"Port {address.wanted_port} is taken; this is port {address.port}.")


def _prepare_folder(folder: Path) -> None:
    from headgate.domain.errors import UserError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The data folder {folder} cannot be made: {error.strerror}.",
            remedy="Set HEADGATE_DATA_DIR to a folder that you may write to.",
        ) from error


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
