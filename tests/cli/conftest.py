"""Fixtures of the command tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger import Ledger
from loopback_site import Site, serving_site


@pytest.fixture
def ledger(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ledger:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
    monkeypatch.setenv("HEADGATE_LOG_LEVEL", "error")
    return Ledger(database_url)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site on loopback, where feeds may be read."""
    monkeypatch.setenv("HEADGATE_FEEDS_ALLOW_PRIVATE", "true")
    with serving_site() as site:
        yield site
