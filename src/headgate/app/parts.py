"""The parts of the product, put together once a process."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from headgate.connectors.apprise_out import AppriseOut
from headgate.connectors.protocol import Connector
from headgate.domain.retry import RetryPolicy
from headgate.domain.streams.schedule_knobs import IntakeKnobs
from headgate.ingest.groups.rule_sweeps import RuleSweeping
from headgate.ingest.inspecting.reader import ContentReader, build_reader
from headgate.ingest.labels.labelling import Labelling
from headgate.ingest.search.indexing import Indexing
from headgate.ingest.shelf.refreshing import ShelfRefreshing
from headgate.ingest.storing.upkeep import collecting_kind, sweeping_kind
from headgate.intake.channels.answering import Answering
from headgate.intake.channels.judging import Judge
from headgate.intake.channels.rediscovery import Discoverer
from headgate.intake.channels.rules import RulesCache
from headgate.intake.fetching.fetch import Fetcher
from headgate.intake.listings.poll import Poller
from headgate.intake.listings.sweep import Sweeper
from headgate.intake.streams.assemble import Assembler
from headgate.intake.streams.head_checks import HeadChecker
from headgate.intake.streams.ingest import Ingest
from headgate.intake.streams.misses import MissRetries
from headgate.intake.streams.rechecks import Rechecks
from headgate.intake.streams.refetch import SingleMessages
from headgate.intake.streams.rereads import Rereader
from headgate.intake.streams.scan import Scanner
from headgate.jobs.cron import install_schedules
from headgate.jobs.execution import Execution
from headgate.jobs.kinds import Kind, Kinds
from headgate.jobs.retention import retention_kind
from headgate.jobs.tick import Tick
from headgate.jobs.worker import Worker, build_worker
from headgate.kernel.clock import Clock
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.kernel.settings import Settings
from headgate.lanes import Lanes
from headgate.lanes.links import Links
from headgate.outflow.library_sends.planning import SendPlanner
from headgate.outflow.library_sends.rule_jobs import SendRules
from headgate.outflow.library_sends.verifying import Verifier
from headgate.outflow.notifications.inbox import pruning_kind
from headgate.outflow.notifications.notify import Notifier
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.outflow.notifications.push_out import Pusher, PushOut
from headgate.outflow.reminders.fire import Firing
from headgate.outflow.sending.sender import Sender
from headgate.storage.blobs.opening import Files, build_files, opened
from headgate.storage.database import Database, Tx
from headgate.storage.secrets import get_secret, list_secret_names, open_vault
from headgate.storage.vault import Vault


@dataclass(frozen=True)
class StoredSecrets:
    """Sealed secrets, and what opens them."""

    database: Database
    data_dir: Path

    async def secrets_of(self, account_id: UUID) -> Mapping[str, str]:
        owner = f"account:{account_id}"
        async with self.database.transaction() as tx:
            names = await list_secret_names(tx, owner)
            if not names:
                return {}
            vault = await self.vault(tx)
            found = {name: await get_secret(tx, vault, owner=owner, name=name) for name in names}
        return {name: secret for name, secret in found.items() if secret is not None}

    async def vault(self, tx: Tx) -> Vault:
        return await open_vault(tx, self.data_dir)


@dataclass(frozen=True)
class Parts:
    """Everything that the services of a process are made of."""

    settings: Settings
    url: str
    database: Database
    clock: Clock
    ids: Ids
    lanes: Lanes
    links: Links
    files: Files
    reader: ContentReader
    rules: RulesCache
    push_addresses: PushAddresses
    kinds: Kinds
    execution: Execution

    def worker(self) -> Worker:
        self.serve_holds()
        return build_worker(self.url, self.execution, self.settings.jobs)

    def serve_holds(self) -> None:
        """Keep the exclusive accounts that this process opens, and take the jobs that need them."""
        self.links.holds.resident = True
        self.links.holds.changed = self.execution.routes.change

    def tick(self) -> Tick:
        return Tick(
            kinds=self.kinds,
            database=self.database,
            clock=self.clock,
            ids=self.ids,
        )


def holder_name() -> str:
    """Return what people know this process by: its machine and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def build_parts(
    settings: Settings,
    url: str,
    database: Database,
    *,
    clock: Clock,
    randomness: Randomness,
    connectors: Mapping[str, Connector],
    pusher: Pusher | None = None,
) -> Parts:
    """Put the parts together; nothing is opened or started."""
    ids = Ids(clock, randomness.fork("ids"))
    lanes = Lanes(database, clock)
    pusher = pusher or AppriseOut()
    files = build_files(settings.files, settings.data.dir, database, clock=clock, ids=ids)
    reader = build_reader(files, settings.data.dir, clock=clock)
    secrets = StoredSecrets(database, settings.data.dir)
    links = Links(connectors, lanes, secrets, settings.outflow.messages_per_minute, holder_name())
    rules = RulesCache(IntakeKnobs(**settings.intake.model_dump()), clock)
    checker = HeadChecker(links, clock, ids, randomness.fork("check"), rules)
    scanner = Scanner(links, clock, ids, randomness.fork("scan"), rules)
    judge = Judge(rules, clock, lambda platform: links.manifest(platform).lenses)
    messages = SingleMessages(links, rules, clock, ids)
    kinds = Kinds(
        [
            checker.kind(),
            scanner.kind(),
            _discoverer(settings, links, clock, ids, randomness).kind(),
            Answering(links).kind(),
            judge.kind(),
            MissRetries(messages).kind(),
            Rechecks(messages).kind(),
            Rereader(links, clock, ids, rules).kind(),
            Ingest(clock, ids, rules).kind(),
            Assembler(rules, clock, ids).kind(),
            Labelling(clock).kind(),
            Indexing(clock).kind(),
            ShelfRefreshing().kind(),
            RuleSweeping(clock).kind(),
            reader.inspector.kind(),
            Poller(database, links, clock, ids, randomness.fork("poll"), rules, settings.series).kind(),
            Sweeper(links, clock, ids, randomness.fork("sweep"), rules, settings.series).kind(),
            Firing(clock, ids).kind(),
            _sender(settings, links, files, clock, ids, randomness).kind(),
            *_library_sends(links, clock, ids),
            Notifier(clock, settings.notify.gather_s, settings.notify.concurrency).kind(),
            _push_out(settings, pusher, lanes, clock, ids).kind(),
            pruning_kind(clock, keep_days=settings.notify.keep_days),
            collecting_kind(files, clock),
            sweeping_kind(files, clock),
        ]
    )
    if settings.files.downloads_at_once:
        kinds.add(_fetcher(settings, links, messages, files, clock, ids).kind())
    kinds.add(retention_kind(settings.jobs, clock, kinds))
    execution = _execution(settings, kinds, database, clock, ids, randomness)
    private = settings.notify.allow_private
    addresses = PushAddresses(pusher, lanes, clock, ids, settings.data.dir, allow_private=private)
    given = (settings, url, database, clock, ids)
    return Parts(*given, lanes, links, files, reader, rules, addresses, kinds, execution)


def _library_sends(links: Links, clock: Clock, ids: Ids) -> list[Kind[Any]]:
    return [
        SendPlanner(links, clock, ids).kind(),
        SendRules(clock, ids).kind(),
        Verifier(links, clock).kind(),
    ]


def build_push_addresses(settings: Settings, database: Database, *, clock: Clock, ids: Ids) -> PushAddresses:
    """Return the actions on push addresses, for callers that need no other part."""
    private = settings.notify.allow_private
    lanes = Lanes(database, clock)
    return PushAddresses(AppriseOut(), lanes, clock, ids, settings.data.dir, allow_private=private)


def _execution(
    settings: Settings, kinds: Kinds, database: Database, clock: Clock, ids: Ids, randomness: Randomness
) -> Execution:
    return Execution(
        kinds=kinds,
        database=database,
        clock=clock,
        randomness=randomness.fork("jobs"),
        ids=ids,
        max_crashes=settings.jobs.max_crashes,
        retry=RetryPolicy(max_attempts=settings.jobs.max_attempts),
    )


def _discoverer(
    settings: Settings, links: Links, clock: Clock, ids: Ids, randomness: Randomness
) -> Discoverer:
    return Discoverer(links, clock, ids, randomness.fork("discover"), settings.intake.discover_every_s)


def _fetcher(
    settings: Settings, links: Links, messages: SingleMessages, files: Files, clock: Clock, ids: Ids
) -> Fetcher:
    return Fetcher(
        links=links,
        messages=messages,
        files=files,
        clock=clock,
        ids=ids,
        at_once=settings.files.downloads_at_once,
        per_account=settings.files.downloads_per_account,
    )


def _sender(
    settings: Settings, links: Links, files: Files, clock: Clock, ids: Ids, randomness: Randomness
) -> Sender:
    return Sender(
        links=links,
        lanes=links.lanes,
        clock=clock,
        ids=ids,
        randomness=randomness.fork("send"),
        store=files.store,
        groups_at_once=settings.outflow.group_concurrency,
        at_once=settings.outflow.fire_concurrency,
    )


def _push_out(settings: Settings, pusher: Pusher, lanes: Lanes, clock: Clock, ids: Ids) -> PushOut:
    return PushOut(
        pusher=pusher,
        lanes=lanes,
        clock=clock,
        ids=ids,
        data_dir=settings.data.dir,
        gather_s=settings.notify.gather_s,
        at_once=settings.notify.concurrency,
        allow_private=settings.notify.allow_private,
    )


@asynccontextmanager
async def open_parts(
    settings: Settings,
    url: str,
    *,
    clock: Clock,
    connectors: Mapping[str, Connector],
    name: str = "headgate",
) -> AsyncGenerator[Parts, None]:
    """Open the parts of a process on a migrated database."""
    database = Database(url, clock, size=settings.database.pool_size, name=name)
    await database.open()
    try:
        parts = build_parts(
            settings, url, database, clock=clock, randomness=Randomness(), connectors=connectors
        )
        await install_schedules(database, parts.kinds, now=clock.now())
        async with opened(parts.files):
            try:
                yield parts
            finally:
                await parts.links.close()
                await parts.reader.close()
    finally:
        await database.close()
