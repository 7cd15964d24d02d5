"""Options of metric reporters."""

from __future__ import annotations

from firesteel.common.options.kinds import strings
from firesteel.common.options.option import Option

REPORTER = "metrics.reporter."
"""The beginning of the options of one reporter, before its name."""

METRIC_REPORTERS = Option(
    "metrics.reporters",
    strings,
    None,
    "Names of the reporters that run; without it all that have a `metrics.reporter.<name>.factory.class`",
)


def is_read(key: str) -> bool:
    """Return whether an option is one of a reporter, whose name is the user's; the reporter checks it.

    Example:
        >>> is_read("metrics.reporter.mine.interval"), is_read("metrics.scope.jm")
        (True, False)
    """
    return key.startswith(REPORTER)
