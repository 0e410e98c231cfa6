"""Fixtures of the command tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger import Ledger


@pytest.fixture
def ledger(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ledger:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    monkeypatch.setenv("HEADGATE_LOG_LEVEL", "error")
    return Ledger(database_url)
