"""Who runs the server: ourselves, or as root somebody without rights, wherever the folders lie."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from guests import make_server, postmaster_pid

from headgate.storage.embedded import programs
from headgate.storage.embedded.programs import SystemUser, server_programs

pytestmark = pytest.mark.long

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def closed_folder(quick_folder: Path) -> Iterator[Path]:
    """A folder that only root can enter, as /root is."""
    path = Path(tempfile.mkdtemp(prefix="headgate-closed-", dir=quick_folder))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def nobodys_folder(quick_folder: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="headgate-nobody-", dir=quick_folder))
    os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    yield path
    shutil.rmtree(path)


def _uid_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def test_as_root_it_runs_unprivileged_below_a_closed_folder_and_leaves_that_closed(
    closed_folder: Path,
) -> None:
    folder = closed_folder / "share" / "headgate"
    server = make_server(folder)
    url = server.start()
    assert _uid_of(postmaster_pid(folder)) != 0
    with psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    server.stop()
    assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o700
    assert closed_folder.stat().st_uid == 0
    assert (folder / "postgres/password").stat().st_uid == 0


def test_programs_that_the_user_cannot_reach_are_copied_once(
    closed_folder: Path, quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel lies in a venv below a closed folder, as with an installation below /root."""
    packages = closed_folder / "venv"
    source = Path(server_programs(None).install).parent
    shutil.copytree(source / "pginstall18", packages / source.name / "pginstall18")
    shutil.copytree(source.with_name(f"{source.name}.libs"), packages / f"{source.name}.libs")
    (packages / source.name / "__init__.py").touch()
    with tempfile.TemporaryDirectory(prefix="headgate-copies-", dir=quick_folder) as base:
        Path(base).chmod(0o755)
        monkeypatch.setattr(programs, "_COPY_BASES", (Path(base),))
        monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
        folder = closed_folder / "data"
        for _ in range(2):
            server = make_server(folder)
            with psycopg.connect(server.start()) as connection:
                assert connection.execute("select 1").fetchone() == (1,)
            executable = Path(f"/proc/{postmaster_pid(folder)}/exe").readlink()
            server.stop()
            assert executable.is_relative_to(base)
        assert len(list(Path(base).iterdir())) == 1


def test_a_copy_that_others_can_write_to_is_not_used(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="headgate-copies-", dir=quick_folder) as base:
        Path(base).chmod(0o777)
        with pytest.raises(PermissionError, match="only root"):
            programs._check_base(Path(base))  # pyright: ignore[reportPrivateUsage]


def test_root_runs_somebody_elses_folder_as_its_owner(nobodys_folder: Path) -> None:
    server = make_server(nobodys_folder)
    server.start()
    assert _uid_of(postmaster_pid(nobodys_folder)) == NOBODY.pw_uid
    server.stop()
    owners = {path.lstat().st_uid for path in nobodys_folder.rglob("*")}
    assert owners == {NOBODY.pw_uid}


def test_a_normal_user_runs_it_as_itself_and_root_joins(nobodys_folder: Path) -> None:
    told, tell = os.pipe()
    waits, release = os.pipe()

    def stay() -> None:
        server = make_server(nobodys_folder)
        server.start()
        os.write(tell, b"ready")
        os.read(waits, 1)
        server.stop()

    guest = _run_as_nobody(stay)
    os.close(tell)
    assert os.read(told, 5) == b"ready"
    assert _uid_of(postmaster_pid(nobodys_folder)) == NOBODY.pw_uid
    root = make_server(nobodys_folder)
    with psycopg.connect(root.start()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)

    os.write(release, b"x")
    assert os.waitpid(guest, 0)[1] == 0
    assert root.is_running()
    root.stop()
    assert not root.is_running()
    assert {path.lstat().st_uid for path in nobodys_folder.rglob("*")} == {NOBODY.pw_uid}


def test_another_user_cannot_connect(closed_folder: Path) -> None:
    closed_folder.chmod(0o755)
    server = make_server(closed_folder)
    url = server.start()

    def intrude() -> None:
        with pytest.raises(psycopg.OperationalError, match="Permission denied"):
            psycopg.connect(url)
        with pytest.raises(PermissionError):
            (closed_folder / "postgres/password").read_text()

    status = os.waitpid(_run_as_nobody(intrude), 0)[1]
    server.stop()
    assert status == 0


def _run_as_nobody(work: Callable[[], None]) -> int:
    """Fork, and return the child's process id; a new interpreter could lie where nobody may not read."""
    child = os.fork()
    if child:
        return child
    try:
        os.setgroups([])
        os.setgid(NOBODY.pw_gid)
        os.setuid(NOBODY.pw_uid)
        work()
    except BaseException:  # noqa: BLE001 - told by the exit status
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def test_the_user_is_chosen_by_the_folder_then_by_name(nobodys_folder: Path, tmp_path: Path) -> None:
    assert programs.choose_user(nobodys_folder) == SystemUser("nobody", NOBODY.pw_uid, NOBODY.pw_gid)
    by_name = programs.choose_user(tmp_path, tmp_path / "none")
    assert by_name is not None
    assert by_name.name in {"postgres", "nobody"}
