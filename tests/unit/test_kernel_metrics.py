"""Metrics: names begin with the product, units come last."""

from __future__ import annotations

import pytest

from headgate.kernel.metrics import REGISTRY, counter, duration, gauge, render_metrics

pytestmark = pytest.mark.once


def test_metrics_are_rendered_with_their_names_and_labels() -> None:
    pages = counter("test_pages_read", "Pages.", ("platform",))
    depth = gauge("test_queue_depth", "Waiting.")
    taken = duration("test_page_read", "How long.")
    try:
        pages.labels("feeds").inc(2)
        text = render_metrics().decode()
    finally:
        for metric in (pages, depth, taken):
            REGISTRY.unregister(metric)
    assert 'headgate_test_pages_read_total{platform="feeds"} 2.0' in text
    assert "headgate_test_queue_depth 0.0" in text
    assert "headgate_test_page_read_seconds_bucket" in text
