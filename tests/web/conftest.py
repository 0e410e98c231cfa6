"""The web part on a fresh database."""

from __future__ import annotations

from pathlib import Path

import pytest
from webworld import WebWorld, make_world

from headgate.kernel.settings import WebSettings
from headgate.storage.database import Database


@pytest.fixture
def world(database: Database, tmp_path: Path) -> WebWorld:
    return make_world(database, tmp_path, settings=WebSettings())
