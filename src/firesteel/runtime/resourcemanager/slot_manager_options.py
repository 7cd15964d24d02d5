"""Flink's options of slot assignment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from firesteel.common.options.slot_options import (
    EVENLY_SPREAD_OUT_SLOTS,
    MAX_SLOTS,
    REDUNDANT_TASKMANAGERS,
    SLOT_REQUEST_TIMEOUT,
    TASK_SLOTS,
    TASKMANAGER_RELEASE_WAITS,
    TASKMANAGER_TIMEOUT,
)
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["SlotManagerOptions"]


@dataclass(frozen=True, slots=True)
class SlotManagerOptions:
    """Options of slot assignment. Flink: `resourcemanager.slotmanager.SlotManagerConfiguration`.

    Attributes:
        worker_slot: The profile of a new worker's slots; None if no workers can be obtained.
        slots_per_worker: `taskmanager.numberOfTaskSlots`.
        max_slots: `slotmanager.number-of-slots.max`, for registered and pending slots together.
        redundant_workers: `slotmanager.redundant-taskmanager-num`: workers kept free while something runs.
        request_timeout_s: `slot.request.timeout`.
        idle_timeout_s: `resourcemanager.taskmanager-timeout`.
        waits_for_results: `resourcemanager.taskmanager-release.wait.result.consumed`.
        spreads_out: `cluster.evenly-spread-out-slots`: the least used TaskExecutor first.
    """

    worker_slot: ResourceProfile | None = None
    slots_per_worker: int = 1
    max_slots: float = math.inf
    redundant_workers: int = 0
    request_timeout_s: float = 300
    idle_timeout_s: float = 30
    waits_for_results: bool = True
    spreads_out: bool = False

    @classmethod
    def of(cls, configuration: Mapping[str, str], worker_slot: ResourceProfile | None) -> SlotManagerOptions:
        """Return the options of a configuration.

        Raises:
            InvalidOptionError: a value can't be read.
        """
        return cls(
            worker_slot,
            TASK_SLOTS.of(configuration),
            MAX_SLOTS.of(configuration),
            REDUNDANT_TASKMANAGERS.of(configuration),
            SLOT_REQUEST_TIMEOUT.of(configuration),
            TASKMANAGER_TIMEOUT.of(configuration),
            TASKMANAGER_RELEASE_WAITS.of(configuration),
            EVENLY_SPREAD_OUT_SLOTS.of(configuration),
        )
