"""The commands that run Headgate, as processes."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from running import Running, environment, eventually, postgres_runs, started

pytestmark = [pytest.mark.once, pytest.mark.long]


def count_items(demo: Running) -> int:
    """Return how many things the library counts, for someone who came by the demo's address."""
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        assert client.get(demo.address).status_code == 200
        found = re.search(r"<b>(.*?)</b>", client.get(f"{demo.base}/library/count").text)
    return int(re.sub(r"\D", "", found[1])) if found else 0


def test_the_demo_opens_signed_in_fills_by_itself_and_stops_with_its_database(tmp_path: Path) -> None:
    with started("demo", HEADGATE_DATA_DIR=str(tmp_path)) as demo:
        first = demo.get()
        assert first.status_code == 200
        assert "Library" in first.text
        eventually(lambda: count_items(demo) > 100, "the library fills")
        seen = count_items(demo)
        eventually(lambda: count_items(demo) > seen, "the library goes on filling")
        assert demo.get("/healthz").status_code == 200
        assert demo.get("/readyz").status_code == 200
        assert demo.interrupt() == 0
    assert not postgres_runs(tmp_path)


@pytest.mark.long
def test_the_demo_goes_on_after_a_kill_and_stops_cleanly_then(tmp_path: Path) -> None:
    with started("demo", HEADGATE_DATA_DIR=str(tmp_path)) as demo:
        eventually(lambda: count_items(demo) > 100, "the library fills")
        before = count_items(demo)
        demo.kill()
    with started("demo", HEADGATE_DATA_DIR=str(tmp_path)) as demo:
        assert count_items(demo) >= before
        assert demo.interrupt() == 0
    assert not postgres_runs(tmp_path)


@pytest.mark.long
def test_the_demo_keeps_to_its_own_database_and_is_not_removed_while_it_runs(tmp_path: Path) -> None:
    settings = {
        "HEADGATE_DATA_DIR": str(tmp_path),
        "HEADGATE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/production",
        "HEADGATE_WEB_PUBLIC_URL": "https://headgate.example.org",
    }
    with started("demo", **settings) as demo:
        assert demo.base.startswith("http://127.0.0.1:")
        assert demo.get().status_code == 200
        fresh = subprocess.run(
            [sys.executable, "-m", "headgate", "demo", "--fresh"],
            env=environment(**settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert fresh.returncode == 1
        assert "HEADGATE_DATABASE_URL is not used" in fresh.stderr
        assert "The demo is running" in fresh.stderr
        assert demo.get().status_code == 200
        assert demo.interrupt() == 0
    with started("demo", "--fresh", **settings) as demo:
        assert demo.get().status_code == 200
        assert demo.interrupt() == 0


def test_the_first_start_prints_a_link_for_the_administrator(tmp_path: Path) -> None:
    with started("up", HEADGATE_DATA_DIR=str(tmp_path)) as headgate:
        assert "/setup/" in headgate.address
        assert headgate.get().status_code == 200
        assert headgate.get("/").status_code in {302, 303, 307, 401}
        assert headgate.interrupt() == 0


def test_a_taken_port_gives_the_next_free_one(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with started("up", HEADGATE_DATA_DIR=str(tmp_path), HEADGATE_WEB_PORT=str(port)) as headgate:
            assert headgate.base.startswith("http://127.0.0.1:")
            assert not headgate.base.endswith(f":{port}")
            assert headgate.get("/healthz").status_code == 200
