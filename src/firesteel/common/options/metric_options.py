"""Options of the reporters of metrics, traces and events."""

from __future__ import annotations

from firesteel.common.options.kinds import strings
from firesteel.common.options.option import Option

REPORTER = "metrics.reporter."
TRACE_REPORTER = "traces.reporter."
EVENT_REPORTER = "events.reporter."
"""The beginnings of the options of one reporter, before its name."""

METRIC_REPORTERS = Option(
    "metrics.reporters",
    strings,
    None,
    "Names of the reporters that run; without it all that have a `metrics.reporter.<name>.factory.class`",
)
TRACE_REPORTERS = Option(
    "traces.reporters",
    strings,
    None,
    "Names of the reporters of traces that run; without it all that have a `traces.reporter.<name>.factory.class`",
)
EVENT_REPORTERS = Option(
    "events.reporters",
    strings,
    None,
    "Names of the reporters of events that run; without it all that have an `events.reporter.<name>.factory.class`",
)


def is_read(key: str) -> bool:
    """Return whether an option is one of a reporter, whose name is the user's; the reporter checks it.

    Example:
        >>> is_read("metrics.reporter.mine.interval"), is_read("metrics.scope.jm")
        (True, False)
    """
    return key.startswith((REPORTER, TRACE_REPORTER, EVENT_REPORTER))
