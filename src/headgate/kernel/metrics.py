"""The process's Prometheus metrics. Names begin with `headgate_`; units come last."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry(auto_describe=True)

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


def counter(name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
    return Counter(f"headgate_{name}", text, labels, registry=REGISTRY)


def gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
    return Gauge(f"headgate_{name}", text, labels, registry=REGISTRY)


def duration(name: str, text: str, labels: tuple[str, ...] = ()) -> Histogram:
    return Histogram(f"headgate_{name}_seconds", text, labels, buckets=_SECONDS, registry=REGISTRY)


def render_metrics() -> bytes:
    """Return all metrics in the text format that Prometheus reads."""
    return generate_latest(REGISTRY)
