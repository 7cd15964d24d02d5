"""Reporters of traces and events.

Flink: `traces.otel.OpenTelemetryTraceReporter`, `events.otel.OpenTelemetryEventReporter`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from firesteel.common.options.metric_options import EVENT_REPORTER, EVENT_REPORTERS, TRACE_REPORTER, TRACE_REPORTERS
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.cluster import now_ms
from firesteel.rest.job_telemetry import Event, JobTelemetry, Span
from firesteel.rest.open_telemetry import EXPORTER_OPTIONS, Exporters
from firesteel.rest.reporter_options import FACTORY, ReporterOptions, named_reporters
from firesteel.runtime.thread_pools import METRICS

__all__ = ["Telemetry", "telemetry_of"]

logger = logging.getLogger(__name__)

TRACES: Final = "org.apache.flink.traces.otel.OpenTelemetryTraceReporterFactory"
EVENTS: Final = "org.apache.flink.events.otel.OpenTelemetryEventReporterFactory"
_INSTEAD: Final = {
    "org.apache.flink.traces.slf4j.Slf4jTraceReporterFactory": "the log has the same: use `env.log.level`",
    "org.apache.flink.events.slf4j.Slf4jEventReporterFactory": "the log has the same: use `env.log.level`",
}
_COMMON: Final = (FACTORY, *EXPORTER_OPTIONS, "filter.includes", "filter.excludes", "scope.variables.additional")
_SCOPE: Final = ".".join(("jobmanager", "job"))
_FLUSH_MS: Final = 5000


class Filter:
    """Which spans or events a reporter takes, by `filter.includes` and `filter.excludes`.

    Each is a list of `<scope>[:<name>[,<name>]]`, separated by `;`, where `*` stands for any characters. As in Flink
    the scope is that of metrics, and that of all spans and events is `jobmanager.job`.

    Example:
        >>> wanted = Filter("jobmanager.*", "*:Batch,Recovery")
        >>> wanted.takes("Checkpoint"), wanted.takes("Batch")
        (True, False)
    """

    def __init__(self, includes: str, excludes: str) -> None:
        self._includes, self._excludes = _patterns(includes), _patterns(excludes)

    def takes(self, name: str) -> bool:
        """Return whether a span or event is wanted."""
        return _matches(self._includes, name) and not _matches(self._excludes, name)


def _patterns(text: str) -> list[tuple[str, list[str]]]:
    parts = [part.strip().split(":") for part in text.split(";") if part.strip()]
    return [(part[0], part[1].split(",") if len(part) > 1 else ["*"]) for part in parts]


def _matches(patterns: Sequence[tuple[str, list[str]]], name: str) -> bool:
    return any(
        fnmatchcase(_SCOPE, of_scope) and any(fnmatchcase(name, one.strip()) for one in names)
        for of_scope, names in patterns
    )


class _Reporter:
    """What reporters of spans and of events share.

    Attributes:
        filter: Which of them it takes.
    """

    def __init__(self, options: ReporterOptions) -> None:
        options.check(_COMMON)
        self.filter = Filter(options.values.get("filter.includes", "*:*"), options.values.get("filter.excludes", ""))
        self._more = _variables(options)
        self._exporters = Exporters.of(options)


def _variables(options: ReporterOptions) -> dict[str, str]:
    pairs = [pair.partition(":") for pair in options.values.get("scope.variables.additional", "").split(",") if pair]
    if wrong := [key for key, colon, _ in pairs if not colon or not key.strip()]:
        raise InvalidOptionError(
            f"option {options.key('scope.variables.additional')!r} has {wrong[0]!r}, expected such as team:red"
        )
    return {key.strip(): value.strip() for key, _, value in pairs}


class TraceReporter(_Reporter):
    """Sends spans by OpenTelemetry's protocol."""

    def __init__(self, options: ReporterOptions) -> None:
        super().__init__(options)
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # The process flushes itself in `close`: a handler at exit would wait for a receiver that does not answer.
        self._provider = TracerProvider(resource=self._exporters.resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporters.make("trace")))

    def add(self, span: Span) -> None:
        """Hand a span to the thread that sends."""
        if self.filter.takes(span.name):
            tracer = self._provider.get_tracer(span.scope)
            attributes = {**self._more, **span.attributes}
            begun = tracer.start_span(span.name, attributes=attributes, start_time=span.begin_ms * 1_000_000)
            begun.end(span.end_ms * 1_000_000)

    def close(self) -> None:
        """Send what is left; blocks."""
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()


class EventReporter(_Reporter):
    """Sends events as log records by OpenTelemetry's protocol."""

    def __init__(self, options: ReporterOptions) -> None:
        super().__init__(options)
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        self._provider = LoggerProvider(resource=self._exporters.resource, shutdown_on_exit=False)
        self._provider.add_log_record_processor(BatchLogRecordProcessor(self._exporters.make("_log")))

    def add(self, event: Event) -> None:
        """Hand an event to the thread that sends."""
        from opentelemetry._logs import LogRecord, SeverityNumber

        if self.filter.takes(event.name):
            time_ns = event.time_ms * 1_000_000
            record = LogRecord(
                timestamp=time_ns,
                observed_timestamp=time_ns,
                severity_text="INFO",
                severity_number=SeverityNumber.INFO,
                attributes={**self._more, "name": event.name, **event.attributes},
            )
            self._provider.get_logger(event.scope).emit(record)

    def close(self) -> None:
        """Send what is left; blocks."""
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()


class Telemetry:
    """The reporters of traces and events, and the listener to jobs that feeds them.

    Attributes:
        listener: Makes spans and events.
    """

    def __init__(self, traces: Sequence[TraceReporter], events: Sequence[EventReporter]) -> None:
        self._closing: list[Callable[[], None]] = [*(one.close for one in traces), *(one.close for one in events)]
        self.listener = JobTelemetry(now_ms, traces, events)

    async def stop(self) -> None:
        """Send what is left."""
        for close in self._closing:
            try:
                await METRICS.run(close)
            except Exception as error:
                logger.warning("the last traces or events could not be reported: %s", error)


def telemetry_of(configuration: Mapping[str, str]) -> Telemetry | None:
    """Return the reporters that are configured; None if there are none.

    Raises:
        InvalidOptionError: a reporter is unknown, or one of its options is.
    """
    traces = named_reporters(configuration, TRACE_REPORTER, TRACE_REPORTERS.of(configuration))
    events = named_reporters(configuration, EVENT_REPORTER, EVENT_REPORTERS.of(configuration))
    for kind, reporters in ((TRACES, traces), (EVENTS, events)):
        for one in reporters:
            one.factory((kind,), _INSTEAD)
    if not traces and not events:
        return None
    return Telemetry([TraceReporter(one) for one in traces], [EventReporter(one) for one in events])
