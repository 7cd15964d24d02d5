"""The settings of the autoscaler for one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firesteel.common.options.autoscaler_options import (
    ADJUST_MODE,
    AUTOSCALER,
    AUTOSCALER_EVENTS,
    AUTOSCALER_INTERVAL,
    AUTOSCALER_RESTART,
    AUTOSCALER_SCALES,
    AUTOSCALER_STABILIZATION,
    AUTOSCALER_WINDOW,
    BACKLOG_THRESHOLD,
    BUSY_TIME_AGGREGATOR,
    CATCH_UP_DURATION,
    DECISIONS_AGE,
    DECISIONS_COUNT,
    EFFECTIVENESS_DETECTION,
    EFFECTIVENESS_THRESHOLD,
    EXCLUDED_VERTICES,
    OBSERVED_RATE_COUNT,
    OBSERVED_RATE_SWITCH,
    OBSERVED_RATE_THRESHOLD,
    RESTART_TRACKING,
    RESTART_TRACKING_LIMIT,
    SCALE_DOWN_FACTOR,
    SCALE_DOWN_INTERVAL,
    SCALE_UP_FACTOR,
    UTILIZATION_BOUNDARY,
    UTILIZATION_MAX,
    UTILIZATION_MIN,
    UTILIZATION_TARGET,
    VERTEX_MAX_PARALLELISM,
    VERTEX_MIN_PARALLELISM,
)

__all__ = ["AutoscalerSettings"]


@dataclass(frozen=True, slots=True)
class AutoscalerSettings:
    """The options of `common.options.autoscaler_options`, times in seconds.

    Attributes:
        scales: Whether decisions are carried out.
        interval_s: Interval at which the job is looked at.
        window_s: Time over which is averaged.
        stabilization_s: Time after a start or a change in which nothing is measured.
        target: Share of the time that a region should be busy, and the bounds within which nothing changes.
        lowest: Lower one of these.
        highest: Upper one of these.
        down_after_s: Time for which fewer subtasks have to be enough.
        least: Least parallelism to choose.
        most: Greatest parallelism to choose.
        down_factor: Share of the parallelism that one change may take away.
        up_factor: How many times the parallelism one change may add.
        catch_up_s: Time in which a backlog should be read; 0 ignores it.
        restart_s: Time for which a change is expected to hold the job.
        tracks_restarts: Whether that time is taken from former changes.
        restart_limit_s: The most that is taken from them.
        backlog_s: Backlog from which on a job may be busy all the time.
        observed_s: Backlog with which the rate that is seen is the highest possible.
        observed_switch: By which share the computed rate must be larger for the one that was seen to count.
        observed_count: How often it must have been seen.
        detects_effect: Whether ineffective changes are not repeated.
        effect: Share of the expected increase that counts as effective.
        excluded: Ids of vertices that keep their parallelism.
        divides_evenly: Whether key groups must divide evenly.
        kept: Decisions that are kept.
        kept_s: How long.
        repeat_s: Time after which the same decision is told again if it is not carried out.
    """

    scales: bool
    interval_s: float
    window_s: float
    stabilization_s: float
    target: float
    lowest: float
    highest: float
    down_after_s: float
    least: int
    most: int
    down_factor: float
    up_factor: float
    catch_up_s: float
    restart_s: float
    tracks_restarts: bool
    restart_limit_s: float
    backlog_s: float
    observed_s: float
    observed_switch: float
    observed_count: int
    detects_effect: bool
    effect: float
    excluded: frozenset[str]
    divides_evenly: bool
    kept: int
    kept_s: float
    repeat_s: float

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> AutoscalerSettings | None:
        """Return the settings of a job; None if it has no autoscaler.

        Raises:
            InvalidOptionError: a value can't be read.
        """
        if not AUTOSCALER.of(configuration):
            return None
        BUSY_TIME_AGGREGATOR.of(configuration)  # Only one value is allowed.
        target, boundary = (one.of(configuration) for one in (UTILIZATION_TARGET, UTILIZATION_BOUNDARY))
        lowest, highest = (one.of(configuration) for one in (UTILIZATION_MIN, UTILIZATION_MAX))
        names = EXCLUDED_VERTICES.of(configuration).replace(",", ";").split(";")
        return cls(
            scales=AUTOSCALER_SCALES.of(configuration),
            interval_s=AUTOSCALER_INTERVAL.of(configuration),
            window_s=AUTOSCALER_WINDOW.of(configuration),
            stabilization_s=AUTOSCALER_STABILIZATION.of(configuration),
            target=target,
            lowest=max(0.0, target - boundary) if lowest is None else lowest,
            highest=min(1.0, target + boundary) if highest is None else highest,
            down_after_s=SCALE_DOWN_INTERVAL.of(configuration),
            least=VERTEX_MIN_PARALLELISM.of(configuration),
            most=VERTEX_MAX_PARALLELISM.of(configuration),
            down_factor=SCALE_DOWN_FACTOR.of(configuration),
            up_factor=SCALE_UP_FACTOR.of(configuration),
            catch_up_s=CATCH_UP_DURATION.of(configuration),
            restart_s=AUTOSCALER_RESTART.of(configuration),
            tracks_restarts=RESTART_TRACKING.of(configuration),
            restart_limit_s=RESTART_TRACKING_LIMIT.of(configuration),
            backlog_s=BACKLOG_THRESHOLD.of(configuration),
            observed_s=OBSERVED_RATE_THRESHOLD.of(configuration),
            observed_switch=OBSERVED_RATE_SWITCH.of(configuration),
            observed_count=OBSERVED_RATE_COUNT.of(configuration),
            detects_effect=EFFECTIVENESS_DETECTION.of(configuration),
            effect=EFFECTIVENESS_THRESHOLD.of(configuration),
            excluded=frozenset(name.strip() for name in names if name.strip()),
            divides_evenly=ADJUST_MODE.of(configuration) == "EVENLY_SPREAD",
            kept=DECISIONS_COUNT.of(configuration),
            kept_s=DECISIONS_AGE.of(configuration),
            repeat_s=AUTOSCALER_EVENTS.of(configuration),
        )
