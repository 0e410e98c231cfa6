"""The database folder: made once, with passwords from the start, and never touched if another version's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from headgate.domain.errors import UserError
from headgate.kernel.randomness import secret_token
from headgate.storage.embedded.layout import SUPERUSER, Layout
from headgate.storage.embedded.locks import open_private
from headgate.storage.embedded.programs import MAJOR_VERSION, Programs


def server_settings(*, shared_memory_mb: int, fsync: bool, sockets: str, log_folder: str) -> dict[str, str]:
    """Return the server's settings; they are given at each start, so that no edited file can differ."""
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": sockets,
        "unix_socket_permissions": "0700",
        "max_connections": "120",
        "shared_buffers": f"{shared_memory_mb}MB",
        "work_mem": "8MB",
        "maintenance_work_mem": "64MB",
        "effective_cache_size": f"{shared_memory_mb * 4}MB",
        # Nothing replicates from it, so a smaller log saves writes.
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "512MB",
        "checkpoint_timeout": "10min",
        "random_page_cost": "1.1",
        "jit": "off",
        # Small queries gain nothing from it, and containers often have 64 MB of /dev/shm.
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": log_folder,
        "log_filename": "postgresql-%Y%m%d-%H%M%S.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "10MB",
        "log_file_mode": "0600",
        "log_checkpoints": "off",
    }
    if not fsync:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    return settings


def cluster_version(layout: Layout) -> str | None:
    """Return the major version that made the folder, or nothing if there is none."""
    try:
        return (layout.cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None


def check_version(version: str) -> None:
    """Refuse another major version's folder before anything is changed."""
    if version == str(MAJOR_VERSION):
        return
    raise UserError(
        f"The database was made by PostgreSQL {version}, but this Headgate comes with {MAJOR_VERSION}.",
        remedy=f"Nothing was changed. Make a backup with the Headgate that comes with PostgreSQL {version}"
        ", move the folder `postgres` out of the data folder, and restore the backup with this one.",
        command="headgate db restore",
    )


def read_password(path: Path) -> str:
    """Return a password of the cluster; clusters of early development versions lack the one for set-up."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise UserError(
            f"A password of the embedded database is missing: {path}.",
            remedy="Copy the file back from a backup of the data folder. Or move the folder `postgres` away"
            " and restore your last backup: one of an early development version cannot be used.",
            command="headgate db restore",
        ) from None


def make_cluster(layout: Layout, programs: Programs, *, fsync: bool) -> None:
    """Make the database folder aside and put it in place by a rename, so that it is whole or absent."""
    draft = layout.server / "cluster.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    for_server = layout.server / "password.new"
    _ensure_password(layout.password)
    _write_private(for_server, _ensure_password(layout.setup_password))
    if programs.user:
        # Not through links: the folder above is the server user's, and we are root here.
        os.lchown(draft, programs.user.uid, programs.user.gid)
    try:
        _run_initdb(layout, programs, fsync=fsync)
    finally:
        for_server.unlink()
    draft.rename(layout.cluster)


def _run_initdb(layout: Layout, programs: Programs, *, fsync: bool) -> None:
    draft = layout.server / "cluster.new"
    done = programs.run(
        "initdb",
        f"--pgdata={programs.cluster_argument(draft)}",
        f"--username={SUPERUSER}",
        "--pwfile=../password.new",
        "--auth-local=scram-sha-256",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
        *([] if fsync else ["--no-sync"]),
        folder=draft,
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise UserError(
            f"The embedded database was not created: {reason[0] if reason else 'initdb gave no reason'}.",
            remedy=f"Check the disk and the permissions of {layout.root}, then try again.",
        )


def _ensure_password(path: Path) -> str:
    if not path.exists():
        _write_private(path, secret_token())
    return read_password(path)


def _write_private(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(open_private(draft), "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
