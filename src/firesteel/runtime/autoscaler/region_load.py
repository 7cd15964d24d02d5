"""How busy a region of a job was, how fast it could be, and how fast it should be.

Batches of a region run one after the other, and their stages, too, so the time of all of its vertices is one: where
Flink has a true processing rate per vertex from its own busy time, here a region has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings
from firesteel.runtime.autoscaler.job_sample import JobSample

__all__ = ["RegionLoad", "SourceLoad", "region_load"]

_INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """A source over the window, in units per second. Flink: `ScalingMetric`.

    Attributes:
        rate: What it has read.
        arrival: What has come in: what it has read, and what its backlog has grown by.
        pending: Its backlog at the end, in units.
        true_rate: What it could read if the region were busy all the time; infinite if it was not busy.
    """

    rate: float
    arrival: float
    pending: float
    true_rate: float

    def capacity(self, settings: AutoscalerSettings, share: float, restart_s: float) -> float:
        """Return the rate that it needs to be busy for a share of the time and to catch up after a change."""
        if share <= 0:
            return _INFINITE
        catch_up = 0.0 if not settings.catch_up_s else (self.pending + self.arrival * restart_s) / settings.catch_up_s
        return catch_up + self.arrival / share


@dataclass(frozen=True, slots=True)
class RegionLoad:
    """A region over the window.

    Attributes:
        busy: Share of the time that it was busy.
        sources: Its sources.
        factor: By which factor its parallelism should change.
        is_slow: Whether it needs more subtasks.
        is_fast: Whether fewer are enough.
    """

    busy: float
    sources: tuple[SourceLoad, ...]
    factor: float
    is_slow: bool
    is_fast: bool


def region_load(
    samples: Sequence[JobSample], region: int, sources: Sequence[str], settings: AutoscalerSettings, restart_s: float
) -> RegionLoad | None:
    """Return the load of a region; None if it can't be told, as nothing was read of what is there.

    Args:
        samples: Of the window, oldest first, at least two.
        region: The region.
        sources: Its sources that count what they have left, at least one.
        settings: The settings.
        restart_s: Time for which a change holds the job.
    """
    first, last = samples[0], samples[-1]
    seconds = last.time_s - first.time_s
    busy = min(1.0, max(0.0, (last.busy_s.get(region, 0.0) - first.busy_s.get(region, 0.0)) / seconds))
    found = []
    for source in sources:
        before, after = first.sources[source], last.sources[source]
        rate = max(0.0, (after.read - before.read) / seconds)
        arrival = max(0.0, rate + (after.pending - before.pending) / seconds)
        if not rate and (arrival or after.pending):
            return None
        found.append(SourceLoad(rate, arrival, after.pending, _true_rate(samples, source, rate, busy, settings)))
    # While it catches up it is busy all the time, which says nothing about the load to come.
    is_behind = any(one.rate and one.pending / one.rate > settings.backlog_s for one in found)
    highest, lowest = (1.0, 0.0) if is_behind else (settings.highest, settings.lowest)
    active = [one for one in found if one.rate]
    # A source without input needs no capacity, and any is too much.
    needed = [one.capacity(settings, settings.target, restart_s) / one.true_rate for one in active]
    return RegionLoad(
        busy,
        tuple(found),
        max(needed, default=0.0),
        any(one.true_rate < one.capacity(settings, highest, 0.0) for one in active),
        all(one.true_rate > one.capacity(settings, lowest, restart_s) for one in active),
    )


def _true_rate(
    samples: Sequence[JobSample], source: str, rate: float, busy: float, settings: AutoscalerSettings
) -> float:
    """Return the rate from busy time, or the one seen with a backlog if that is lower, as batches have fixed costs."""
    computed = rate / busy if busy else _INFINITE
    seen = list(_seen_rates(samples, source, settings))
    if len(seen) < settings.observed_count:
        return computed
    observed = sum(seen) / len(seen)
    return observed if computed > observed * (1 + settings.observed_switch) else computed


def _seen_rates(samples: Sequence[JobSample], source: str, settings: AutoscalerSettings) -> Iterator[float]:
    """Yield the rates between two samples with so much of a backlog that the source was never without input."""
    for before, after in pairwise(samples):
        rate = (after.sources[source].read - before.sources[source].read) / (after.time_s - before.time_s)
        least = min(before.sources[source].pending, after.sources[source].pending)
        if rate > 0 and least / rate > settings.observed_s:
            yield rate
