"""`/metrics`: all metrics of the cluster as Prometheus and OpenMetrics have them.

Flink: `metrics.prometheus.PrometheusReporter`, whose names these are; as there, counts are gauges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from firesteel.common.histogram import Histogram
from firesteel.rest.cluster import now_ms
from firesteel.rest.metric_handlers import Values, of_cluster, of_job, of_process
from firesteel.rest.metric_help import HELP, OF_FUNCTIONS
from firesteel.rest.routes import Answer, Call, Route, Text
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails

_NO_NAME = re.compile(r"[^a-zA-Z0-9_:]")

Labels = Mapping[str, str]


class Families(Collector):
    """The metrics of one answer, by name.

    Attributes:
        dotted: The names of metrics with dots, as Flink's reporter for OpenTelemetry has them.
    """

    def __init__(self) -> None:
        self._of: dict[str, Metric] = {}
        self.dotted: dict[str, str] = {}

    def gauges(self, scope: str, labels: Labels, values: Values) -> None:
        """Add a sample of each metric that is a number, with the labels of its scope."""
        for name, value in values.items():
            if not isinstance(value, str):
                family = self._family(f"{scope}_{name}", HELP.get(name, OF_FUNCTIONS))
                self.dotted[family.name] = f"flink.{scope.replace('_', '.')}.{name}"
                family.add_sample(family.name, dict(labels), float(value))

    def _family(self, name: str, meaning: str) -> Metric:
        plain = _NO_NAME.sub("_", f"flink_{name}")
        if plain not in self._of:
            self._of[plain] = GaugeMetricFamily(plain, meaning)
        return self._of[plain]

    def histogram(self, name: str, meaning: str, labels: Labels, histogram: Histogram) -> None:
        """Add a histogram with its labels."""
        family = self._of.get(name)
        if not isinstance(family, HistogramMetricFamily):
            family = self._of[name] = HistogramMetricFamily(name, meaning, labels=list(labels))
        buckets = [("+Inf" if bound == float("inf") else str(bound), count) for bound, count in histogram.buckets()]
        family.add_metric(list(labels.values()), buckets, histogram.sum)

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self._of.values()

    def text(self) -> str:
        """Return them in Prometheus' text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry).decode()


async def _metrics(call: Call) -> Answer:
    return Text((await metrics_of(call)).text())


async def metrics_of(call: Call) -> Families:
    """Return all metrics of the cluster."""
    found = Families()
    found.gauges("jobmanager", {}, await of_cluster(call))
    now = now_ms()
    for info in await (await call.cluster.resource_manager()).request_task_managers():
        values = of_process(info.usage) | {"lastHeartbeatAge": max(0, now - info.last_heartbeat_ms)}
        found.gauges("taskmanager", {"tm_id": info.resource_id}, values)
    for details in (await (await call.cluster.dispatcher()).request_overview()).jobs:
        if not details.status.is_globally_terminal:
            _add_job(found, details, await call.cluster.job(details.job_id), now)
    for (method, route), latencies in call.cluster.latencies.items():
        meaning = "time until an answer of the REST API, in seconds"
        labels = {"method": method, "route": route}
        found.histogram("flink_jobmanager_rest_latency_seconds", meaning, labels, latencies)
    return found


def _add_job(found: Families, details: JobDetails, job: ArchivedExecutionGraph, now: int) -> None:
    labels = {"job_id": details.job_id, "job_name": details.name}
    rescales = sum(job.rescales.counts.values())
    found.gauges("jobmanager_job", labels, of_job(details, now) | {"numRescales": rescales})
    name, checkpoints = "flink_jobmanager_job_checkpoint", details.checkpoints
    found.histogram(f"{name}_duration_seconds", "durations of completed checkpoints", labels, checkpoints.durations_s)
    found.histogram(f"{name}_size_bytes", "bytes written for completed checkpoints", labels, checkpoints.sizes)
    for vertex in job.graph.get("vertices", ()):
        for index, subtask in enumerate(vertex["subtasks"]):
            of_subtask = labels | {"task_name": vertex["name"], "subtask_index": str(index)}
            for scope, more, values in _scopes(subtask["metrics"]):
                found.gauges(scope, {**of_subtask, **more}, values)


def _scopes(metrics: Values) -> Iterator[tuple[str, Labels, Values]]:
    """Yield the metrics of a task, and those of its operators, whose names precede the first dot."""
    for name, value in metrics.items():
        operator, dot, of_operator = name.partition(".")
        if dot:
            yield "taskmanager_job_task_operator", {"operator_name": operator}, {of_operator: value}
        else:
            yield "taskmanager_job_task", {}, {name: value}


ROUTES = (Route("GET", "/metrics", _metrics, produces="text/plain"),)
