"""What the service counts, in the form that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept = self.registry
        self.requests = Counter(
            "crank_requests_total",
            "Requests by path and status.",
            ["path", "status"],
            registry=kept,
        )
        self.seconds = Histogram(
            "crank_request_seconds", "Time of a request.", ["path"], buckets=BUCKETS, registry=kept
        )
        self.rows = Counter("crank_rows_total", "Rows scored.", registry=kept)
        self.reloads = Counter(
            "crank_reloads_total", "Reloads by outcome.", ["outcome"], registry=kept
        )
        self.model = Gauge("crank_model_info", "The model that answers.", ["digest"], registry=kept)

    def show_model(self, digest: str) -> None:
        """Say which model answers from now on."""
        self.model.clear()
        self.model.labels(digest).set(1)

    def text(self) -> bytes:
        """Write all of it."""
        return generate_latest(self.registry)
