"""The web part on a fresh database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from series_stage import SeriesStage, build_stage
from webworld import WebWorld, make_world

from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database


@pytest.fixture
def world(database: Database, tmp_path: Path) -> WebWorld:
    return make_world(database, tmp_path, settings=WebSettings())


@pytest.fixture
async def stage(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[SeriesStage]:
    """The web part beside a site with listings."""
    stage = await build_stage(database, database_url, tmp_path)
    yield stage
    await stage.listed.close()
    await stage.web.app.state.site.parts.links.close()


@pytest.fixture
def settings_of_commands(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let commands work on the database of the pages."""
    monkeypatch.setenv("HEADGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HEADGATE_LOG_LEVEL", "error")
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)
