"""Platforms for commands: the installed connectors, and the simulated one on a demo's database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from headgate.app.connectors import load_connectors
from headgate.app.parts import StoredSecrets, holder_name
from headgate.cli.context import CommandContext
from headgate.connectors.protocol import Connector
from headgate.domain.errors import Elsewhere, UserError
from headgate.domain.pacing import LanePlan
from headgate.intake.channels.logins import Logins
from headgate.kernel.clock import RealClock
from headgate.lanes import Lanes, plan_lanes
from headgate.lanes.links import Links


def connectors_of(context: CommandContext) -> Mapping[str, Connector]:
    """Return the connectors that can be used on this database, by platform."""
    connectors = dict(load_connectors(context.settings))
    if context.anchor is not None:
        from headgate.testing import SimulatedConnector, build_demo_world

        world = build_demo_world(
            context.settings.demo.seed, context.clock, opened_at=context.anchor.opened_at
        )
        connectors["simulated"] = SimulatedConnector(world)
    return connectors


def connector_of(context: CommandContext, platform: str) -> Connector:
    """Return the connector of a platform, or say which there are."""
    connectors = connectors_of(context)
    if platform not in connectors:
        known = ", ".join(sorted(connectors))
        raise UserError(
            f"There is no connector for the platform {platform!r} in this installation.",
            remedy=f"Available: {known}." if known else "None is installed yet; the demo has one.",
            command="" if known else "headgate demo",
        )
    return connectors[platform]


@asynccontextmanager
async def open_links(context: CommandContext) -> AsyncGenerator[Links, None]:
    """Yield the way to call platforms, paced by the same lanes as the services."""
    secrets = StoredSecrets(context.database, context.settings.data.dir)
    lanes = Lanes(context.database, context.clock)
    most = context.settings.outflow.messages_per_minute
    links = Links(connectors_of(context), lanes, secrets, most, holder_name())
    try:
        yield links
    finally:
        await links.close()


@asynccontextmanager
async def open_logins(context: CommandContext) -> AsyncGenerator[Logins, None]:
    """Yield what signs accounts in on this database."""
    async with open_links(context) as links:
        yield Logins(links, context.settings.data.dir, context.ids, context.clock, RealClock())


def plans_of(context: CommandContext, platform: str) -> list[LanePlan]:
    """Return the lanes that an account of a platform gets when it is first opened."""
    connectors = connectors_of(context)
    if platform not in connectors:
        raise Elsewhere(f"there is no connector for the platform {platform!r} in this installation")
    most = context.settings.outflow.messages_per_minute
    return plan_lanes(connectors[platform].manifest.lanes, send_per_minute=most)
