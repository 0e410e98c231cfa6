"""Fixtures of the outflow tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from notification_bench import NewsBench, build_news_bench
from plans_bench import PlansBench, build_plans_bench
from receiver import Receiver, receiving

from headgate.storage.database import Database


@pytest.fixture
async def plans(database: Database) -> AsyncIterator[PlansBench]:
    plans = build_plans_bench(database)
    yield plans
    await plans.links.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def telling(database: Database, receiver: Receiver, tmp_path: Path) -> NewsBench:
    return build_news_bench(database, receiver, tmp_path)
