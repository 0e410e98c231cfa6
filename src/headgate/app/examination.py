"""All checks of `headgate doctor`: it changes nothing, and Headgate need not be running."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from headgate.app.checks import (
    Check,
    check_disk,
    check_folder,
    check_key_file,
    check_port,
    explain_unreachable,
    failed,
    free_bytes,
    judge_accounts,
    judge_clock,
    judge_engine,
    judge_files,
    judge_hosts,
    judge_listings,
    judge_powers,
    judge_schedule,
    judge_schema,
    judge_server,
)
from headgate.app.server import open_server
from headgate.domain.errors import UserError
from headgate.ingest.storing.audit import report_audit
from headgate.ingest.storing.audit_words import describe_audit
from headgate.kernel.clock import Clock
from headgate.kernel.settings import Settings
from headgate.storage.database import Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.listings.listing_overview import list_hosts, list_odd_listings, list_troubled_listings
from headgate.storage.migrate import schema_status
from headgate.storage.vault import KEY_FILE
from headgate.storage.vitals import (
    count_forgotten,
    get_engine_vitals,
    get_vitals,
    list_powers,
    list_troubled_accounts,
    open_examination,
)


async def examine(
    settings: Settings, clock: Clock, *, measure: Callable[[Path], int] = free_bytes
) -> list[Check]:
    """Return all findings; those about the database are left out where it cannot be asked."""
    folder = settings.data.dir
    local = [
        Check("settings", "ok", "All settings are valid."),
        check_folder(folder),
        check_disk(folder, measure=measure),
        check_key_file(folder / KEY_FILE),
        check_port(settings.web.host, settings.web.port),
    ]
    healthy = all(check.status != "fail" for check in local if check.name in ("data folder", "disk"))
    if reason := _why_not_ask(settings, healthy=healthy):
        return [*local, Check("server", "skip", reason)]
    return [*local, *await _examine_database(settings, clock)]


def _why_not_ask(settings: Settings, *, healthy: bool) -> str:
    """Return why the embedded server is better left alone, or nothing."""
    if settings.database.url is not None or sys.platform == "win32":
        return ""
    from headgate.storage.embedded import EmbeddedServer

    server = EmbeddedServer(settings.data.dir)
    if server.is_running():
        return ""
    if not server.exists():
        return "There is no embedded database yet; `headgate up` creates it."
    return "" if healthy else "The embedded database is not started: its folder lacks space or permissions."


async def _examine_database(settings: Settings, clock: Clock) -> list[Check]:
    try:
        async with open_server(settings) as url, open_examination(url) as tx:
            return [*await _examine_server(tx, clock), *await _examine_schema(url, tx, settings, clock)]
    except UserError as error:
        return [failed("server", error)]
    except DatabaseAway as error:
        return [explain_unreachable(str(error))]


async def _examine_server(tx: Tx, clock: Clock) -> list[Check]:
    asked_at = clock.now()
    vitals = await get_vitals(tx)
    answered_at = clock.now()
    agreed = judge_clock(server_at=vitals.server_at, asked_at=asked_at, answered_at=answered_at)
    return [*judge_server(vitals), judge_powers(await list_powers(tx)), agreed]


async def _examine_schema(url: str, tx: Tx, settings: Settings, clock: Clock) -> list[Check]:
    try:
        status = await schema_status(url)
    except UserError as error:
        return [failed("migrations", error)]
    schema = judge_schema(status)
    if not status.current:
        return [schema, Check("engine", "skip", "Checked only when the schema is up to date.")]
    engine = await get_engine_vitals(tx, silent_s=settings.jobs.heartbeat_timeout_s)
    accounts = judge_accounts(await list_troubled_accounts(tx))
    schedule = judge_schedule(await count_forgotten(tx))
    odd = await list_odd_listings(tx, now=clock.now())
    feeds = judge_listings(odd, await list_troubled_listings(tx))
    sites = judge_hosts(await list_hosts(tx))
    files = judge_files(describe_audit(await report_audit(tx), clock.now()))
    return [schema, *judge_engine(engine), schedule, accounts, sites, feeds, files]
