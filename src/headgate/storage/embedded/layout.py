"""Where the embedded server keeps what.

    <data_dir>/postgres/            ours, 0700
        start.lock                  held while somebody starts or stops the server
        users.lock                  shared by every attached process
        server.lock                 held by the server's processes themselves, as long as one lives
        password                    of the application's role, 0600
        setup-password              of the superuser, which only set-up uses, 0600
        start.log                   what the server said before its own log began
        server/                     the server's, 0700: as root, all that its user can reach
            cluster/  run/  log/

The server works inside `cluster` and names the others relative to it, so the folders above `server` need not
be open to its user.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from headgate.domain.errors import UserError
from headgate.storage.embedded.programs import SystemUser

PORT = 5432
ROLE = "headgate"
"""Owns the application's database, and may do nothing else on the server."""
SUPERUSER = "postgres"
"""Makes that role and database; never given to the application."""
# The least that a supported system allows for a socket's path (macOS), less the terminating zero.
_MAX_SOCKET_PATH = 103
_SHORT_BASE = Path("/tmp")  # noqa: S108 - the folder below it is made 0700 and its owner is checked


@dataclass(frozen=True)
class Layout:
    """The paths below one data folder."""

    root: Path

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def users_lock(self) -> Path:
        return self.root / "users.lock"

    @property
    def server_lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def password(self) -> Path:
        return self.root / "password"

    @property
    def setup_password(self) -> Path:
        return self.root / "setup-password"

    @property
    def start_log(self) -> Path:
        return self.root / "start.log"

    @property
    def server(self) -> Path:
        return self.root / "server"

    @property
    def cluster(self) -> Path:
        return self.server / "cluster"

    @property
    def log(self) -> Path:
        return self.server / "log"

    @property
    def pid_file(self) -> Path:
        return self.cluster / "postmaster.pid"

    @property
    def sockets(self) -> Path:
        """The folder of the socket: beside the cluster, or a short one if that path is no address."""
        beside = self.server / "run"
        if _fits(beside):
            return beside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return _SHORT_BASE / f"headgate-{self.root.stat().st_uid}-{digest}"

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"

    def url(self, *, role: str, database: str, password: str) -> str:
        return f"postgresql://{role}:{password}@/{database}?host={quote(str(self.sockets), safe='')}"


def _fits(folder: Path) -> bool:
    """Tell whether clients can use this folder as a host: they split hosts at commas."""
    path = os.fsencode(folder / f".s.PGSQL.{PORT}")
    return len(path) <= _MAX_SOCKET_PATH and b"," not in path


def make_folders(layout: Layout, user: SystemUser | None) -> None:
    """Create what is missing, each folder for its owner alone; nothing above the data folder is changed."""
    layout.root.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _make_private(layout.root, _owner_of(layout.root.parent))
    owner = (user.uid, user.gid) if user else None
    for folder in (layout.server, layout.log, layout.sockets):
        _make_private(folder, owner)


def _owner_of(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_uid, status.st_gid


def _make_private(folder: Path, owner: tuple[int, int] | None) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        check_private(folder, owner[0] if owner and os.geteuid() == 0 else os.geteuid())
    else:
        if owner and os.geteuid() == 0:
            os.chown(folder, *owner)


def check_private(folder: Path, uid: int) -> None:
    """Refuse a folder that somebody else owns, can write to, or has put a link in place of."""
    status = folder.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == uid and not stat.S_IMODE(status.st_mode) & 0o077:
        return
    raise UserError(
        f"{folder} must belong to user id {uid} and have mode 700.",
        remedy="It holds the embedded database: run Headgate as the user who created it, or set"
        " HEADGATE_DATA_DIR to another folder.",
    )
