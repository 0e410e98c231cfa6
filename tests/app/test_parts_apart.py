"""The parts on several machines: a web process and workers on one external database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from running import environment, started


@pytest.mark.long
def test_web_and_worker_run_apart_on_one_database(database_url: str, tmp_path: Path) -> None:
    settings = {"HEADGATE_DATABASE_URL": database_url, "HEADGATE_DATA_DIR": str(tmp_path)}
    worker = subprocess.Popen(
        [sys.executable, "-m", "headgate", "worker"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**settings),
    )
    try:
        assert worker.stderr is not None
        assert "The workers are running" in worker.stderr.readline()
        with started("web", **settings) as web:
            assert web.get("/readyz").status_code == 200
            assert web.interrupt() == 0
        worker.terminate()
        assert worker.wait(60) == 0
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()
