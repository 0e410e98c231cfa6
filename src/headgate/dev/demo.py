"""`headgate demo`: everything, with a simulated world in quick time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.up import announce, build_service, prepare_folder, run_quickly, say
from headgate.dev.demo_plans import follow_series, plan_reminders
from headgate.kernel.settings import load_settings

if TYPE_CHECKING:
    from headgate.app.parts import Parts
    from headgate.kernel.settings import Settings


def demo(
    fresh: Annotated[bool, typer.Option(help="Start with an empty library.")] = False,
) -> None:
    """Try Headgate with a simulated world, in fast motion, in a data folder of its own."""
    settings = _demo_settings(load_settings())
    if fresh:
        _remove_demo(settings)
    run_quickly(_serve_demo(settings))


def _demo_settings(settings: Settings) -> Settings:
    """Return settings under which the demo touches nothing but a folder of its own, and is seen only here."""
    from dataclasses import replace

    if settings.database.url is not None:
        say("The demo has a database of its own; HEADGATE_DATABASE_URL is not used.")
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
            remedy="Stop it with Ctrl-C. If it was killed, start it again and stop it.",
            command="headgate demo",
        )
    if settings.data.dir.exists():
        shutil.rmtree(settings.data.dir)


async def _serve_demo(settings: Settings) -> None:
    from headgate.access.links import create_entry_link
    from headgate.app.connectors import load_connectors
    from headgate.app.parts import open_parts
    from headgate.app.product_time import anchored_clock, start_quick_time
    from headgate.app.server import open_server
    from headgate.app.service import EVERYTHING, stop_on_signals
    from headgate.domain.errors import UserError
    from headgate.kernel.collector import collect_seldom
    from headgate.storage.migrate import migrate
    from headgate.testing import SimulatedConnector, build_demo_world

    prepare_folder(settings.data.dir)
    say("Starting the demo: a simulated world, sped up. Ctrl-C stops it and its database.")
    async with open_server(settings) as url:
        try:
            await migrate(url)
        except UserError as error:
            raise UserError(
                f"The demo's library does not fit this version. {error.message}",
                remedy="Start with an empty library.",
                command="headgate demo --fresh",
            ) from error
        anchor = await start_quick_time(url, speed=settings.demo.speed)
        clock = anchored_clock(anchor)
        world = build_demo_world(settings.demo.seed, clock, opened_at=anchor.opened_at)
        connectors = {**load_connectors(settings), "simulated": SimulatedConnector(world)}
        async with open_parts(settings, url, clock=clock, connectors=connectors) as parts:
            await _follow_everything(parts)
            await plan_reminders(parts)
            service = build_service(parts, EVERYTHING)
            service.entry_link = await create_entry_link(parts.database, parts.ids)
            await follow_series(parts)
            collect_seldom()
            await service.run(stop_on_signals(), lambda: announce(service))


async def _follow_everything(parts: Parts) -> None:
    """Give the demo's library something to follow: every stream that its accounts can see."""
    from headgate.intake.channels.discovery import follow_all
    from headgate.testing.content.demo_world import ACCOUNTS

    for name in ACCOUNTS:
        await follow_all(parts.database, parts.links, parts.ids, parts.clock, name=name)
