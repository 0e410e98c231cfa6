"""Fixtures of the outflow tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from plans_bench import PlansBench, build_plans_bench

from headgate.storage.database import Database


@pytest.fixture
async def plans(database: Database) -> AsyncIterator[PlansBench]:
    plans = build_plans_bench(database)
    yield plans
    await plans.links.close()
