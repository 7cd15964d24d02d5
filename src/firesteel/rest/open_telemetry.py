"""Sending metrics, spans and events by OpenTelemetry's protocol, with the options of Flink's reporters.

Flink: `metrics.otel.OpenTelemetryReporterOptions`. The packages of OpenTelemetry are the extra `opentelemetry`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from prometheus_client.metrics_core import Metric

from firesteel.common.optional_package import optional_package
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.cluster import now_ms
from firesteel.rest.reporter_options import ReporterOptions

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Gauge, Histogram, HistogramDataPoint, MetricsData
    from opentelemetry.sdk.resources import Resource

__all__ = ["EXPORTER_OPTIONS", "Exporters", "metrics_data"]

EXPORTER_OPTIONS: Final = (
    "exporter.endpoint",
    "exporter.protocol",
    "exporter.timeout",
    "exporter.compression",
    "service.name",
    "service.version",
)

_EXPORTERS: Final = "opentelemetry.exporter.otlp.proto"


@dataclass(frozen=True, slots=True)
class Exporters:
    """Makes the exporters of a reporter.

    Attributes:
        endpoint: URL of the receiver; by HTTP with the path, such as `http://host:4318/v1/traces`.
        protocol: `grpc` or `http`.
        timeout_s: How long an export may take.
        is_compressed: Whether requests are compressed by gzip.
        service: The attributes `service.name` and `service.version`.
    """

    endpoint: str
    protocol: str
    timeout_s: float
    is_compressed: bool
    service: Mapping[str, str]

    @classmethod
    def of(cls, options: ReporterOptions) -> Exporters:
        """Return what the options ask for.

        Raises:
            InvalidOptionError: one of them is missing or invalid, or the packages are missing.
        """
        endpoint = options.values.get("exporter.endpoint", "")
        if urlsplit(endpoint).scheme not in ("http", "https") or not urlsplit(endpoint).hostname:
            raise InvalidOptionError(
                f"option {options.key('exporter.endpoint')!r} is {endpoint!r}, expected such as http://collector:4317"
            )
        _check_packages()
        return cls(
            endpoint,
            options.choice("exporter.protocol", ("grpc", "http"), "gRPC"),
            options.duration_s("exporter.timeout", "10 s"),
            options.choice("exporter.compression", ("none", "gzip"), "none") == "gzip",
            {name: options.values[name] for name in ("service.name", "service.version") if name in options.values},
        )

    @property
    def resource(self) -> Resource:
        """The description of this process."""
        from opentelemetry.sdk.resources import Resource

        return Resource.create(dict(self.service))

    def make(self, signal: str) -> Any:
        """Return an exporter of a signal: `metric`, `trace` or `_log`."""
        module = import_module(f"{_EXPORTERS}.{self.protocol}.{signal}_exporter")
        name = {"metric": "OTLPMetricExporter", "trace": "OTLPSpanExporter", "_log": "OTLPLogExporter"}[signal]
        return getattr(module, name)(endpoint=self.endpoint, timeout=self.timeout_s, compression=self._compression())

    def _compression(self) -> object:
        if self.protocol == "http":
            from opentelemetry.exporter.otlp.proto.http import Compression

            return Compression.Gzip if self.is_compressed else Compression.NoCompression
        grpc = import_module("grpc")
        return grpc.Compression.Gzip if self.is_compressed else grpc.Compression.NoCompression


def _check_packages() -> None:
    try:
        with optional_package("A reporter for OpenTelemetry", "opentelemetry-sdk", "opentelemetry"):
            for module in ("opentelemetry.sdk", f"{_EXPORTERS}.grpc", f"{_EXPORTERS}.http"):
                import_module(module)
    except ModuleNotFoundError as error:
        raise InvalidOptionError(str(error)) from None


def metrics_data(resource: Resource, metrics: Iterable[Metric], names: Mapping[str, str], began_ns: int) -> MetricsData:
    """Return metrics as the SDK's data: gauges, and histograms since the start of the process.

    Args:
        resource: Describes the process.
        metrics: The metrics, as Prometheus has them.
        names: Their names with dots, as Flink's reporter has them, by their names in Prometheus.
        began_ns: Time at which histograms began (ns since the epoch).
    """
    from opentelemetry.sdk.metrics import export
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    now_ns = now_ms() * 1_000_000
    found = [
        export.Metric(names.get(metric.name, metric.name), metric.documentation, "", _points(metric, began_ns, now_ns))
        for metric in metrics
    ]
    scope = export.ScopeMetrics(InstrumentationScope("firesteel"), found, "")
    return export.MetricsData([export.ResourceMetrics(resource, [scope], "")])


def _points(metric: Metric, began_ns: int, now_ns: int) -> Gauge | Histogram:
    from opentelemetry.sdk.metrics import export

    if metric.type != "histogram":
        return export.Gauge([export.NumberDataPoint(one.labels, now_ns, now_ns, one.value) for one in metric.samples])
    points = [_histogram_point(labels, values, began_ns, now_ns) for labels, values in _by_labels(metric)]
    return export.Histogram(points, export.AggregationTemporality.CUMULATIVE)


def _by_labels(metric: Metric) -> Iterable[tuple[Mapping[str, str], Mapping[str, float]]]:
    """Return the samples of each histogram: `sum`, and the cumulative count of each upper bound."""
    found: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for sample in metric.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        found.setdefault(labels, {})[sample.labels.get("le", sample.name.rpartition("_")[2])] = sample.value
    return [(dict(labels), values) for labels, values in found.items()]


def _histogram_point(
    labels: Mapping[str, str], values: Mapping[str, float], began_ns: int, now_ns: int
) -> HistogramDataPoint:
    from opentelemetry.sdk.metrics import export

    bounds = [name for name in values if name not in ("sum", "count", "created", "+Inf")]
    cumulative = [0.0, *(values[bound] for bound in bounds), values["+Inf"]]
    counts = [round(after - before) for before, after in itertools.pairwise(cumulative)]
    nothing = float("nan")  # Neither is known.
    return export.HistogramDataPoint(
        labels,
        began_ns,
        now_ns,
        round(values["+Inf"]),
        values["sum"],
        counts,
        [float(bound) for bound in bounds],
        nothing,
        nothing,
    )
