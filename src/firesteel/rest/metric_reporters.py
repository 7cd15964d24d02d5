"""Reporters, which send the metrics of the cluster to others at intervals.

Flink: `runtime.metrics.ReporterSetup`, `metrics.prometheus.PrometheusPushGatewayReporter`,
`metrics.statsd.StatsDReporter`, `metrics.otel.OpenTelemetryMetricReporter`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import delete_from_gateway, push_to_gateway

from firesteel.common.options.metric_options import METRIC_REPORTERS, REPORTER
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.cluster import now_ms
from firesteel.rest.open_telemetry import EXPORTER_OPTIONS, Exporters, metrics_data
from firesteel.rest.prometheus_handlers import Families
from firesteel.rest.reporter_options import FACTORY, ReporterOptions, named_reporters
from firesteel.runtime.thread_pools import METRICS

__all__ = ["ReporterRun", "reporters_of"]

logger = logging.getLogger(__name__)

_INTERVAL: Final = "interval"
_TIMEOUT_S: Final = 10.0
_UNCLEAN: Final = re.compile(r"[^A-Za-z0-9_-]")
_DATAGRAM_BYTES: Final = 1400


class _Reporter(Protocol):
    """Sends metrics. Both methods block, and raise an `OSError` if nobody takes them."""

    def report(self, metrics: Families) -> None:
        """Send all metrics."""

    def close(self) -> None:
        """Take back what should not outlive the process."""


class _PushGateway:
    """Pushes to Prometheus' PushGateway."""

    OPTIONS: Final = ("hostUrl", "host", "port", "jobName", "randomJobNameSuffix", "deleteOnShutdown", "groupingKey")

    def __init__(self, options: ReporterOptions) -> None:
        given = options.values
        self._url = given.get("hostUrl") or f"http://{given.get('host', '')}:{given.get('port', '')}"
        if not urlsplit(self._url).hostname or urlsplit(self._url).port is None:
            raise InvalidOptionError(
                f"option {options.key('hostUrl')!r} is {self._url!r}, expected such as http://gateway:9091"
            )
        suffix = secrets.token_hex(16) if _is_set(options, "randomJobNameSuffix") else ""
        self._job = given.get("jobName", "") + suffix
        if not self._job:
            raise InvalidOptionError(f"option {options.key('jobName')!r} is empty, and randomJobNameSuffix is false")
        self._deletes = _is_set(options, "deleteOnShutdown")
        pairs = (pair.partition("=") for pair in given.get("groupingKey", "").split(";") if pair)
        self._grouping = {key: value for key, _, value in pairs}

    def report(self, metrics: Families) -> None:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(metrics)
        push_to_gateway(self._url, self._job, registry, self._grouping, _TIMEOUT_S)

    def close(self) -> None:
        if self._deletes:
            delete_from_gateway(self._url, self._job, self._grouping, _TIMEOUT_S)


class _StatsD:
    """Sends gauges to StatsD by UDP: `<metric>.<value of each label>:<value>|g`, and of histograms sum and count."""

    OPTIONS: Final = ("host", "port")

    def __init__(self, options: ReporterOptions) -> None:
        host, port = options.values.get("host"), options.values.get("port", "")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise InvalidOptionError(
                f"options {options.key('host')!r} and '.port' are {host!r} and {port!r}, expected both"
            )
        self._address = host, int(port)

    def report(self, metrics: Families) -> None:
        # Looked up each time, as the address of a service changes when its pod does.
        family = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0][0]
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            waiting = b""
            for line in self._lines(metrics):
                # Below the 1500 bytes of Ethernet: of a datagram in fragments, one lost fragment loses all.
                if waiting and len(waiting) + len(line) > _DATAGRAM_BYTES:
                    sender.sendto(waiting, self._address)
                    waiting = b""
                waiting += line
            if waiting:
                sender.sendto(waiting, self._address)

    def _lines(self, metrics: Families) -> Iterator[bytes]:
        for metric in metrics.collect():
            for sample in metric.samples:
                if not sample.name.endswith("_bucket"):
                    name = ".".join(_UNCLEAN.sub("-", part) for part in (sample.name, *sample.labels.values()))
                    yield f"{name}:{sample.value:g}|g\n".encode()

    def close(self) -> None:
        """Do nothing: what was sent is sent."""


class _OpenTelemetry:
    """Sends metrics by OpenTelemetry's protocol, with the names of Flink's reporter."""

    OPTIONS: Final = EXPORTER_OPTIONS

    def __init__(self, options: ReporterOptions) -> None:
        exporters = Exporters.of(options)
        self._exporter, self._resource = exporters.make("metric"), exporters.resource
        self._timeout_ms = exporters.timeout_s * 1000
        self._began_ns = now_ms() * 1_000_000

    def report(self, metrics: Families) -> None:
        data = metrics_data(self._resource, metrics.collect(), metrics.dotted, self._began_ns)
        result = self._exporter.export(data, self._timeout_ms)
        if result.name != "SUCCESS":
            raise OSError("the receiver did not take them; the log of OpenTelemetry's exporter has the reason")

    def close(self) -> None:
        self._exporter.shutdown()


def _is_set(options: ReporterOptions, option: str) -> bool:
    text = options.values.get(option, "true").strip().lower()
    if text not in ("true", "false"):
        raise InvalidOptionError(f"option {options.key(option)!r} is {text!r}, expected true or false")
    return text == "true"


_FACTORIES: Final[Mapping[str, type[_PushGateway] | type[_StatsD] | type[_OpenTelemetry]]] = {
    "org.apache.flink.metrics.prometheus.PrometheusPushGatewayReporterFactory": _PushGateway,
    "org.apache.flink.metrics.statsd.StatsDReporterFactory": _StatsD,
    "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory": _OpenTelemetry,
}
_ELSEWHERE: Final = {
    "org.apache.flink.metrics.prometheus.PrometheusReporterFactory": "scrape /metrics of the JobManager's REST API",
}
"""What to do instead of other reporters of Flink's."""


class _Scheduled(NamedTuple):
    name: str
    reporter: _Reporter
    interval_s: float


def reporters_of(configuration: Mapping[str, str]) -> list[_Scheduled]:
    """Return the configured reporters.

    Raises:
        InvalidOptionError: a reporter is unknown, or one of its options is.
    """
    named = named_reporters(configuration, REPORTER, METRIC_REPORTERS.of(configuration))
    return [_scheduled(options) for options in named]


def _scheduled(options: ReporterOptions) -> _Scheduled:
    kind = _FACTORIES[options.factory(_FACTORIES, _ELSEWHERE)]
    options.check((FACTORY, _INTERVAL, *kind.OPTIONS))
    interval_s = options.duration_s(_INTERVAL, "10 s")
    return _Scheduled(options.name, kind(options), max(interval_s, 0.001))


class ReporterRun:
    """Runs reporters, each at its interval, and never lets one hold up another or the process.

    Args:
        reporters: The reporters.
        metrics: Returns all metrics of the cluster.
    """

    def __init__(self, reporters: list[_Scheduled], metrics: Callable[[], Awaitable[Families]]) -> None:
        self._reporters = reporters
        self._metrics = metrics
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to report, after the first interval of each reporter."""
        self._tasks = [asyncio.create_task(self._report(one)) for one in self._reporters]

    async def _report(self, one: _Scheduled) -> None:
        while True:
            await asyncio.sleep(one.interval_s)
            try:
                await METRICS.run(one.reporter.report, await self._metrics())
            except Exception as error:  # Nobody listens, or no leader is elected: the next report may succeed.
                logger.warning("metrics could not be reported by %r: %s", one.name, error)

    async def stop(self) -> None:
        """Stop, and take back what should not outlive the process."""
        for task in self._tasks:
            task.cancel()
        for one in self._reporters:
            try:
                await METRICS.run(one.reporter.close)
            except Exception as error:
                logger.warning("metrics of %r could not be taken back: %s", one.name, error)
