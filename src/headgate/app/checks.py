"""What `headgate doctor` looks at on this machine, each with its finding and its remedy.

The judgements are pure functions of what was found; `examination` finds it.
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import socket
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from headgate.domain.errors import UserError
from headgate.ingest.storing.audit_words import AuditWords
from headgate.kernel.logs import mask_url
from headgate.storage.listings.listing_overview import (
    HostState,
    OddListing,
    TroubledListing,
    describe_troubles,
)
from headgate.storage.migrate import SchemaStatus
from headgate.storage.vitals import EngineVitals, Forgotten, TroubledAccount, Vitals

Status = Literal["ok", "warn", "fail", "skip"]

_MIB = 2**20
NO_DISK_BYTES = 200 * _MIB
LITTLE_DISK_BYTES = 1024 * _MIB
TOLERATED_SKEW_S = 2.0
TOLERATED_WAIT_S = 60.0
BUSY_PART = 0.8
_ASK_S = 2.0


@dataclass(frozen=True)
class Check:
    """One finding."""

    name: str
    status: Status
    message: str
    remedy: str = ""


def failed(name: str, error: UserError) -> Check:
    return Check(name, "fail", error.message, error.terminal_remedy)


def check_folder(folder: Path) -> Check:
    """Look whether files can be made there, or in the nearest folder above that exists; makes none."""
    place = nearest_existing(folder)
    remedy = "Fix its permissions, or set HEADGATE_DATA_DIR to your own folder."
    if not place.is_dir():
        return Check("data folder", "fail", f"{place} is not a folder.", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        return Check("data folder", "fail", f"{place} cannot be written to.", remedy)
    if place != folder:
        return Check("data folder", "ok", f"{folder} will be created at the first start.")
    return Check("data folder", "ok", f"{folder} can be written to.")


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def check_disk(folder: Path, *, measure: Callable[[Path], int] = free_bytes) -> Check:
    """Judge the free space below the data folder."""
    place = nearest_existing(folder)
    free = measure(place)
    message = f"{free / _MIB:,.0f} MiB are free at {place}."
    remedy = "Free some space there, or move the data folder (HEADGATE_DATA_DIR) to a larger disk."
    if free < NO_DISK_BYTES:
        return Check("disk", "fail", f"The disk is full: {message}", remedy)
    if free < LITTLE_DISK_BYTES:
        return Check("disk", "warn", message, remedy)
    return Check("disk", "ok", message)


def nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def check_key_file(path: Path) -> Check:
    """Look whether others can read the key that all stored secrets are encrypted with."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return Check("key file", "skip", "There is none yet; it is created with the first secret.")
    except OSError as error:
        return Check(
            "key file", "fail", f"{path} cannot be read: {error.strerror}.", "Fix the folder's permissions."
        )
    if mode & 0o077:
        return Check(
            "key file", "fail", f"{path} has mode {mode:o}: others can read the key.", f"chmod 600 {path}"
        )
    return Check("key file", "ok", "Only its owner can read it. Keep a copy separate from the backups.")


def check_port(host: str, port: int) -> Check:
    """Look whether the web server could listen, or who does already."""
    name = "web port"
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _judge_taken_port(host, port, answer=_ask_health(host, port))
        reason = error.strerror or str(error)
        return Check(
            name,
            "fail",
            f"The web server cannot listen on {host} port {port}: {reason}.",
            "Set HEADGATE_WEB_HOST to an address of this machine and HEADGATE_WEB_PORT to a port above 1023.",
        )
    return Check(name, "ok", f"{host} port {port} is free.")


def _judge_taken_port(host: str, port: int, *, answer: str) -> Check:
    if answer.strip() == "ok":
        return Check("web port", "ok", f"A Headgate answers on {host} port {port}.")
    return Check(
        "web port",
        "warn",
        f"Another program listens on {host} port {port}.",
        "Headgate will use the next free port and say so; set HEADGATE_WEB_PORT to choose one, or stop the"
        " other program.",
    )


def _ask_health(host: str, port: int) -> str:
    connection = http.client.HTTPConnection(host, port, timeout=_ASK_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().read(64).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def explain_unreachable(reason: str) -> Check:
    """Name the fault behind a refused connection, and the remedy that fits it."""
    text = mask_url(" ".join(reason.split()))
    lowered = text.lower()
    remedies = {
        "password": "Correct the user and password in HEADGATE_DATABASE_URL.",
        "does not exist": "Create that database or user on the server, or correct HEADGATE_DATABASE_URL.",
        "resolve": "Correct the host name in HEADGATE_DATABASE_URL.",
        "name or service": "Correct the host name in HEADGATE_DATABASE_URL.",
        "refused": "Start the server, or correct host and port in HEADGATE_DATABASE_URL.",
        "no such file": "Start the server, or correct the socket's folder in HEADGATE_DATABASE_URL.",
        "timeout": "Check for a firewall in between, or correct host and port in HEADGATE_DATABASE_URL.",
        "too many": "Raise max_connections on the server, or lower HEADGATE_DATABASE_POOL_SIZE.",
    }
    fallback = "Check the server and HEADGATE_DATABASE_URL."
    remedy = next((remedy for sign, remedy in remedies.items() if sign in lowered), fallback)
    return Check("server", "fail", f"The server cannot be reached: {text}", remedy)


def judge_powers(powers: Sequence[str]) -> Check:
    """Check the rights of the database user: a flaw in our SQL would expose them."""
    if not powers:
        return Check("database user", "ok", "It has no rights beyond its own database.")
    has = "is a superuser" if "superuser" in powers else f"has {', '.join(powers)}"
    return Check(
        "database user",
        "warn",
        f"The database user {has}, which Headgate does not need.",
        "Let a plain user own the database: `create role headgate login password '…'`,"
        " `create database headgate owner headgate`; then `headgate db restore` with a backup.",
    )


def judge_server(vitals: Vitals) -> list[Check]:
    used = f"{vitals.connections} of {vitals.max_connections} connections are in use."
    busy = vitals.connections > vitals.max_connections * BUSY_PART
    return [
        Check("server", "ok", f"PostgreSQL {vitals.version} answers."),
        Check(
            "connections",
            "warn" if busy else "ok",
            used,
            "Lower HEADGATE_DATABASE_POOL_SIZE, run fewer processes, or raise max_connections."
            if busy
            else "",
        ),
    ]


def judge_clock(*, server_at: datetime, asked_at: datetime, answered_at: datetime) -> Check:
    """Compare the clocks; the server read its own at some moment between question and answer."""
    skew_s = max((asked_at - server_at).total_seconds(), (server_at - answered_at).total_seconds(), 0.0)
    if skew_s <= TOLERATED_SKEW_S:
        return Check("clock", "ok", "This machine and the server agree on the time.")
    return Check(
        "clock",
        "warn",
        f"This machine and the server differ by {skew_s:.1f} s.",
        "Let both take the time from the network (chrony, systemd-timesyncd).",
    )


def judge_schema(status: SchemaStatus) -> Check:
    if status.current:
        return Check("migrations", "ok", f"All {len(status.applied)} are applied.")
    pending = ", ".join(f"{migration.number} {migration.name}" for migration in status.pending)
    return Check(
        "migrations",
        "warn",
        f"Not yet applied: {pending or 'the engine’s own tables'}.",
        "Run `headgate db migrate`; `headgate up` does so automatically.",
    )


def judge_engine(vitals: EngineVitals) -> list[Check]:
    late = vitals.oldest_s > TOLERATED_WAIT_S
    engine = Check("engine", "ok", f"{vitals.queued} jobs wait, {vitals.picked} run.")
    if vitals.stale:
        engine = Check(
            "engine",
            "warn",
            f"{vitals.stale} jobs belong to workers that stopped responding.",
            "Start a worker (`headgate up` or `headgate worker`): it takes them over.",
        )
    elif late:
        engine = Check(
            "engine",
            "warn",
            f"The oldest of {vitals.queued} jobs has waited for {vitals.oldest_s:.0f} s.",
            "Start a worker, or more of them; `headgate jobs list` shows what waits.",
        )
    letters = Check("failed jobs", "ok", "There are none.")
    if vitals.dead_letters:
        letters = Check(
            "failed jobs",
            "warn",
            f"{vitals.dead_letters} jobs failed for good.",
            "See them with `headgate jobs list`; retry or discard each.",
        )
    return [engine, letters]


def judge_schedule(forgotten: list[Forgotten]) -> Check:
    """Judge work that should go on, but has neither a due time nor a job."""
    found = [one for one in forgotten if one.rows]
    if not found:
        return Check("schedule", "ok", "All work that should go on has a due time or a job.")
    named = ", ".join(f"{one.rows} {one.what}" for one in found)
    return Check(
        "schedule",
        "warn",
        f"Without a due time or a job: {named}. Nothing will continue them.",
        "Start them by hand (`headgate channel scan`, `headgate series check`, `headgate run send-rest`) and"
        " report this as a bug.",
    )


def judge_accounts(troubled: list[TroubledAccount]) -> Check:
    if not troubled:
        return Check("accounts", "ok", "All are active.")
    named = "; ".join(
        f"{account.platform} {account.name}: {account.state.replace('_', ' ')}"
        + (f" ({account.state_reason})" if account.state_reason else "")
        for account in troubled
    )
    return Check("accounts", "warn", f"{named}.", "Sign these accounts in again, or remove them.")


def judge_files(words: AuditWords) -> Check:
    """Judge stored files by what is known; `headgate audit` reads them."""
    status: Status = "warn" if words.troubled else "ok"
    return Check("stored files", status, f"{words.findings} {words.progress}", words.remedy)


def _named(hosts: list[HostState]) -> str:
    more = f", and {len(hosts) - 5} more" if len(hosts) > 5 else ""
    return ", ".join(host.name for host in hosts[:5]) + more


def judge_hosts(hosts: list[HostState]) -> Check:
    """Judge the sites that feeds and series come from: those that do not answer are left alone."""
    away = [host for host in hosts if host.open_until is not None]
    limiting = [host for host in hosts if host.limited_until is not None]
    if limiting and not away:
        return Check(
            "sites",
            "warn",
            f"Asked us to wait (429): {_named(limiting)}.",
            "They are checked again automatically, within a day; `headgate hosts` says when. If it comes"
            " often, ask them less: `headgate hosts pace SITE N`.",
        )
    if not away:
        return Check("sites", "ok", "No site is resting." if hosts else "There are no feeds or series.")
    named = "; ".join(f"{host.name} ({host.error_message or 'reason unknown'})" for host in away[:5])
    more = f", and {len(away) - 5} more" if len(away) > 5 else ""
    return Check(
        "sites",
        "warn",
        f"Resting because they do not answer: {named}{more}.",
        "They are retried automatically; `headgate hosts --troubled` says when, `headgate series check`"
        " tries now.",
    )


def judge_listings(odd: list[OddListing], troubled: list[TroubledListing]) -> Check:
    """Judge feeds and series one by one: a person should know of those that are gone, limited, cut or odd."""
    told = describe_troubles(troubled)
    findings = [words.finding for words in told]
    remedies = [f"{words.remedy} Run `{words.command}`." if words.command else words.remedy for words in told]
    if odd:
        named = "; ".join(
            f"{one.title} moved to the address of {one.moved_onto}"
            if one.moved_onto
            else f"{one.title} keeps changing the IDs of its entries"
            for one in odd[:5]
        )
        findings.append(named + (f", and {len(odd) - 5} more." if len(odd) > 5 else "."))
        remedies.append("Entries are recognised by link and title. Of two feeds at one address, remove one.")
    if not findings:
        return Check("feeds", "ok", "All are read in full, and none changes the IDs of its entries.")
    return Check("feeds", "warn", " ".join(findings), " ".join(remedies))
