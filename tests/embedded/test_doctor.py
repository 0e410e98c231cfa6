"""`headgate doctor` on set-ups that are whole and broken: it names the fault and the remedy."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from guests import make_server
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from headgate.app.checks import (
    Check,
    check_disk,
    check_folder,
    check_key_file,
    check_port,
    explain_unreachable,
    free_bytes,
    judge_accounts,
    judge_clock,
    judge_engine,
    judge_schedule,
    judge_server,
)
from headgate.app.examination import examine
from headgate.cli.main import app
from headgate.kernel.clock import RealClock
from headgate.kernel.settings import load_settings
from headgate.storage.database import Tx, connect
from headgate.storage.vitals import EngineVitals, Forgotten, TroubledAccount, Vitals, list_powers

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables of a whole set-up; nothing of ours comes in from outside."""
    for name in [name for name in os.environ if name.startswith("HEADGATE_")]:
        monkeypatch.delenv(name)
    return {"HEADGATE_DATA_DIR": str(tmp_path), "HEADGATE_WEB_PORT": str(_free_port())}


def _doctor(environment: dict[str, str]) -> tuple[int, dict[str, dict[str, Any]]]:
    result = CliRunner().invoke(app, ["doctor", "--json"], env=environment)
    return result.exit_code, {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def test_a_whole_set_up_passes(environment: dict[str, str], database_url: str) -> None:
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": database_url})
    assert code == 0
    assert {check["status"] for check in checks.values()} <= {"ok", "skip", "warn"}
    for name in (
        "server",
        "connections",
        "database user",
        "clock",
        "migrations",
        "engine",
        "failed jobs",
        "accounts",
    ):
        assert checks[name]["status"] == "ok", checks[name]


def test_a_wrong_url_is_named(environment: dict[str, str], database_url: str) -> None:
    closed = f"postgresql://somebody:hidden@127.0.0.1:{_free_port()}/headgate"
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": closed})
    assert code == 1
    assert checks["server"]["status"] == "fail"
    assert "refused" in checks["server"]["message"]
    assert "Start the server, or correct host and port" in checks["server"]["remedy"]
    assert "hidden" not in json.dumps(checks)

    missing = make_conninfo(database_url, dbname="nowhere")
    parameters = conninfo_to_dict(missing)
    url = f"postgresql:///nowhere?{'&'.join(f'{k}={v}' for k, v in parameters.items() if k != 'dbname')}"
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": url})
    assert code == 1
    assert 'database "nowhere" does not exist' in checks["server"]["message"]
    assert "Create that database" in checks["server"]["remedy"]


def test_a_database_user_that_is_more_than_its_owner_is_named(
    environment: dict[str, str], setup_url: str
) -> None:
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": setup_url})
    assert code == 0
    assert checks["database user"]["status"] == "warn"
    assert "is a superuser" in checks["database user"]["message"]
    assert "create database headgate owner headgate" in checks["database user"]["remedy"]


@pytest.mark.parametrize(
    "right", ["pg_execute_server_program", "pg_read_server_files", "pg_write_server_files", "CREATEROLE"]
)
async def test_a_right_that_a_user_has_through_another_role_is_named(setup_url: str, right: str) -> None:
    connection = await connect(setup_url)
    async with connection, connection.transaction(force_rollback=True):
        await connection.execute("create role asked; create role beside; set local role asked")
        assert await list_powers(Tx(connection)) == []
        gift = "alter role beside createrole" if right == "CREATEROLE" else f"grant {right} to beside"
        await connection.execute(f"reset role; {gift}; grant beside to asked; set local role asked".encode())
        assert await list_powers(Tx(connection)) == [right]


def test_a_newer_schema_is_named(environment: dict[str, str], database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into headgate_migration (number, name, checksum) values (9999, 'later', 'x')"
        )
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": database_url})
    assert code == 1
    assert checks["migrations"]["status"] == "fail"
    assert "newer than this Headgate" in checks["migrations"]["message"]
    assert "Install the version that made it" in checks["migrations"]["remedy"]


def test_pending_migrations_are_named(environment: dict[str, str], database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("delete from headgate_migration where number = 1")
    code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": database_url})
    assert code == 0
    assert checks["migrations"]["status"] == "warn"
    assert "1 initial" in checks["migrations"]["message"]
    assert "headgate db migrate" in checks["migrations"]["remedy"]


def test_a_taken_port_is_named(environment: dict[str, str], database_url: str) -> None:
    with socket.create_server(("127.0.0.1", int(environment["HEADGATE_WEB_PORT"]))) as taken:
        _close_each_connection(taken)
        code, checks = _doctor(environment | {"HEADGATE_DATABASE_URL": database_url})
    assert code == 0
    assert checks["web port"]["status"] == "warn"
    assert "Another program listens" in checks["web port"]["message"]
    assert "HEADGATE_WEB_PORT" in checks["web port"]["remedy"]


def _close_each_connection(listening: socket.socket) -> None:
    def serve() -> None:
        try:
            while True:
                listening.accept()[0].close()
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()


def test_a_running_headgate_on_the_port_is_no_fault() -> None:
    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"ok\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is inherited
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        check = check_port("127.0.0.1", server.server_address[1])
        server.shutdown()
    assert (check.status, check.message.startswith("A Headgate answers")) == ("ok", True)


def test_an_address_of_another_machine_is_named() -> None:
    check = check_port("192.0.2.1", 8420)
    assert check.status == "fail"
    assert "HEADGATE_WEB_HOST" in check.remedy


@contextmanager
def _tiny_disk(path: Path) -> Generator[Callable[[Path], int], None, None]:
    """Mount a file system of 8 MiB and yield how to measure it; where that is not allowed, pretend."""
    path.mkdir()
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", "-o", "size=8m", "headgate", str(path)]
    if mount is None or os.geteuid() != 0 or subprocess.call(command):
        yield lambda _: 8 * 2**20
        return
    try:
        yield free_bytes
    finally:
        subprocess.check_call(["umount", str(path)])


def test_a_full_disk_is_named_and_the_server_left_alone(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    with _tiny_disk(folder) as measure:
        cluster = folder / "postgres/server/cluster"
        cluster.mkdir(parents=True)
        (cluster / "PG_VERSION").write_text("18\n")
        settings = load_settings(environment | {"HEADGATE_DATA_DIR": str(folder)})
        checks = {check.name: check for check in asyncio.run(examine(settings, RealClock(), measure=measure))}
        left = sorted(path.name for path in (folder / "postgres").iterdir())
    assert checks["disk"].status == "fail"
    assert "The disk is full" in checks["disk"].message
    assert "Free some space" in checks["disk"].remedy
    assert checks["server"].status == "skip"
    assert left == ["server"]


@pytest.mark.parametrize(("free", "status"), [(199, "fail"), (201, "warn"), (1023, "warn"), (1025, "ok")])
def test_the_disk_is_judged_by_what_is_free(tmp_path: Path, free: int, status: str) -> None:
    assert check_disk(tmp_path / "not" / "yet", measure=lambda _: free * 2**20).status == status


def test_wrong_settings_are_named(environment: dict[str, str]) -> None:
    code, checks = _doctor(environment | {"HEADGATE_WEB_PORT": "many"})
    assert code == 1
    assert checks["settings"]["status"] == "fail"
    assert "HEADGATE_WEB_PORT" in checks["settings"]["message"]


def test_without_a_database_the_doctor_makes_none(environment: dict[str, str], tmp_path: Path) -> None:
    code, checks = _doctor(environment)
    assert code == 0
    assert checks["server"]["status"] == "skip"
    assert list(tmp_path.iterdir()) == []


def test_an_embedded_database_is_examined_and_left_stopped(environment: dict[str, str], folder: Path) -> None:
    server = make_server(folder)
    server.start()
    server.stop()
    code, checks = _doctor(environment | {"HEADGATE_DATA_DIR": str(folder)})
    assert code == 0
    assert checks["server"]["message"].startswith("PostgreSQL 18")
    assert checks["migrations"]["status"] == "warn"
    assert not server.is_running()


def test_an_embedded_database_of_another_version_is_named(environment: dict[str, str], folder: Path) -> None:
    cluster = folder / "postgres/server/cluster"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("17\n")
    code, checks = _doctor(environment | {"HEADGATE_DATA_DIR": str(folder)})
    assert code == 1
    assert "made by PostgreSQL 17" in checks["server"]["message"]
    assert "Make a backup" in checks["server"]["remedy"]


def test_a_key_file_for_all_is_named(tmp_path: Path) -> None:
    key = tmp_path / "secret.key"
    assert check_key_file(key).status == "skip"
    key.touch(mode=0o600)
    assert check_key_file(key).status == "ok"
    key.chmod(0o644)
    assert check_key_file(key) == Check(
        "key file", "fail", f"{key} has mode 644: others can read the key.", f"chmod 600 {key}"
    )


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert check_folder(tmp_path / "file").status == "fail"
    assert check_folder(tmp_path / "new" / "deep").status == "ok"


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ('FATAL:  password authentication failed for user "x"', "Correct the user and password"),
        ("failed to resolve host 'nowhere'", "Correct the host name"),
        ("connection timeout expired", "Check for a firewall"),
        ("FATAL:  sorry, too many clients already", "Raise max_connections"),
        ("something new", "Check the server"),
    ],
)
def test_each_refusal_has_its_remedy(reason: str, remedy: str) -> None:
    assert explain_unreachable(reason).remedy.startswith(remedy)


@pytest.mark.parametrize(("skew_s", "status"), [(0.0, "ok"), (1.9, "ok"), (2.5, "warn"), (-2.5, "warn")])
def test_clocks_may_differ_a_little(skew_s: float, status: str) -> None:
    server_at = NOW + timedelta(seconds=skew_s)
    assert judge_clock(server_at=server_at, asked_at=NOW, answered_at=NOW).status == status


def test_a_slow_answer_is_no_skew() -> None:
    late = NOW + timedelta(seconds=10)
    assert judge_clock(server_at=NOW, asked_at=NOW, answered_at=late).status == "ok"


def test_what_waits_and_what_gave_up_is_named() -> None:
    quiet = EngineVitals(queued=3, picked=1, stale=0, oldest_s=5.0, dead_letters=0)
    assert [check.status for check in judge_engine(quiet)] == ["ok", "ok"]
    stale = EngineVitals(queued=3, picked=2, stale=2, oldest_s=5.0, dead_letters=4)
    assert [check.status for check in judge_engine(stale)] == ["warn", "warn"]
    late = EngineVitals(queued=3, picked=1, stale=0, oldest_s=90.0, dead_letters=0)
    assert "waited for 90 s" in judge_engine(late)[0].message


def test_few_connections_left_are_named() -> None:
    assert [c.status for c in judge_server(Vitals("18.4", NOW, 99, 120))] == ["ok", "warn"]


def test_accounts_that_cannot_work_are_named() -> None:
    banned = TroubledAccount("telegram", "alice", "needs_login", "signed out")
    assert judge_accounts([]).status == "ok"
    assert judge_accounts([banned]).message == "telegram alice: needs login (signed out)."


def test_work_without_a_due_time_or_a_job_is_reported() -> None:
    assert judge_schedule([Forgotten("streams", 0), Forgotten("runs", 0)]).status == "ok"
    found = judge_schedule([Forgotten("streams", 2), Forgotten("runs", 1), Forgotten("scans", 0)])
    assert found.status == "warn"
    assert "2 streams, 1 runs" in found.message
