"""Options of the autoscaler, with the keys of the Flink Kubernetes operator.

As there, each is also read with `kubernetes.operator.` before its key. Flink: `AutoScalerOptions` of the operator.
"""

from __future__ import annotations

from typing import TypeVar

from firesteel.common.options.kinds import Kind, boolean, choice, duration, integer_from, number_between, strings
from firesteel.common.options.option import Option

_T = TypeVar("_T")


def _with_prefix(*keys: str) -> tuple[str, ...]:
    """Return the keys that the operator read before it had those without prefix, and the former ones of these."""
    return (*keys[1:], *(f"kubernetes.operator.{key}" for key in keys))


def _option(name: str, kind: Kind[_T], default: str, effect: str, *former: str) -> Option[_T]:
    keys = [f"job.autoscaler.{one}" for one in (name, *former)]
    return Option(keys[0], kind, default, effect, fallback=_with_prefix(*keys))


def _without_default(name: str, kind: Kind[_T], effect: str) -> Option[_T | None]:
    key = f"job.autoscaler.{name}"
    return Option(key, kind, None, effect, fallback=_with_prefix(key))


AUTOSCALER = _option("enabled", boolean, "false", "Whether the parallelism of a job follows its load")
AUTOSCALER_SCALES = _option(
    "scaling.enabled", boolean, "true", "Whether decisions are carried out; otherwise they are only shown"
)
AUTOSCALER_WINDOW = _option("metrics.window", duration, "15 min", "Time over which load and speed are averaged")
AUTOSCALER_STABILIZATION = _option(
    "stabilization.interval", duration, "5 min", "Time after a start or a change in which nothing is measured"
)
UTILIZATION_TARGET = _option(
    "utilization.target",
    number_between(0, 1),
    "0.7",
    "Share of the time that a region of a job should be busy",
    "target.utilization",
)
UTILIZATION_BOUNDARY = _option(
    "target.utilization.boundary",
    number_between(0, 1),
    "0.3",
    "How far the share may be from the target before anything changes, unless its bounds are set",
)
UTILIZATION_MAX = _without_default("utilization.max", number_between(0, 1), "Share above which a job gets more slots")
UTILIZATION_MIN = _without_default("utilization.min", number_between(0, 1), "Share below which it gets fewer")
SCALE_DOWN_INTERVAL = _option(
    "scale-down.interval",
    duration,
    "1 h",
    "Time for which fewer slots have to be enough before the job gets fewer: the most that were enough meanwhile",
    "scale-up.grace-period",
)
VERTEX_MIN_PARALLELISM = _option("vertex.min-parallelism", integer_from(1), "1", "Least parallelism to choose")
VERTEX_MAX_PARALLELISM = _option("vertex.max-parallelism", integer_from(1), "200", "Greatest parallelism to choose")
SCALE_DOWN_FACTOR = _option(
    "scale-down.max-factor", number_between(0, 1), "0.6", "Share of the parallelism that a change may take away"
)
SCALE_UP_FACTOR = _option(
    "scale-up.max-factor",
    number_between(0, float("inf")),
    "100000",
    "By how many times the parallelism a change may increase it",
)
CATCH_UP_DURATION = _option(
    "catch-up.duration", duration, "30 min", "Time in which a backlog should be read after a change; 0 ignores backlogs"
)
AUTOSCALER_RESTART = _option("restart.time", duration, "5 min", "Time for which a change is expected to hold the job")
RESTART_TRACKING = _option(
    "restart.time-tracking.enabled", boolean, "false", "Whether the longest of its last changes counts instead"
)
RESTART_TRACKING_LIMIT = _option("restart.time-tracking.limit", duration, "15 min", "Upper bound of that time")
BACKLOG_THRESHOLD = _option(
    "backlog-processing.lag-threshold",
    duration,
    "5 min",
    "Backlog, as time to read it, from which on a job may be busy all the time and gets no fewer slots",
)
OBSERVED_RATE_THRESHOLD = _option(
    "observed-true-processing-rate.lag-threshold",
    duration,
    "30 s",
    "Backlog, as time to read it, with which the rate that is seen is the highest possible one",
)
OBSERVED_RATE_SWITCH = _option(
    "observed-true-processing-rate.switch-threshold",
    number_between(0, float("inf")),
    "0.15",
    "By which share the rate computed from busy time must be larger for the one that was seen to count",
)
OBSERVED_RATE_COUNT = _option(
    "observed-true-processing-rate.min-observations", integer_from(1), "2", "How often it must have been seen"
)
EFFECTIVENESS_DETECTION = _option(
    "scaling.effectiveness.detection.enabled",
    boolean,
    "false",
    "Whether a job gets no more slots if those of its last change did not make it faster",
)
EFFECTIVENESS_THRESHOLD = _option(
    "scaling.effectiveness.threshold",
    number_between(0, 1),
    "0.1",
    "Share of the expected increase of the rate from which on more slots count as effective",
)
BUSY_TIME_AGGREGATOR = _option(
    "metrics.busy-time.aggregator",
    choice("MAX"),
    "MAX",
    "Which of its subtasks tells how busy a vertex is: a batch waits for the busiest",
)
EXCLUDED_VERTICES = _option("vertex.exclude.ids", strings, "", "Ids of vertices that keep their parallelism, by `;`")
ADJUST_MODE = _option(
    "scaling.key-group.partitions.adjust.mode",
    choice("EVENLY_SPREAD", "MAXIMIZE_UTILISATION"),
    "EVENLY_SPREAD",
    "Whether vertices with keys get a parallelism by which their key groups can be divided, or any that gives the "
    "fullest subtask fewer of them",
)
DECISIONS_COUNT = _option("history.max.count", integer_from(1), "3", "Decisions of a job that are kept")
DECISIONS_AGE = _option("history.max.age", duration, "24 h", "How long they are kept")
AUTOSCALER_EVENTS = _option(
    "scaling.event.interval", duration, "30 min", "Time after which the same decision, not carried out, is told again"
)
AUTOSCALER_INTERVAL = Option(
    "autoscaler.standalone.control-loop.interval", duration, "10 s", "Interval at which the autoscaler looks at a job"
)
