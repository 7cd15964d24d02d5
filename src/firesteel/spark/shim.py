"""The function that runs in Spark's Python workers: it passes the rows of a lane to its slots and returns their output.

It does not depend on operators. Workers import it by name, so it must import quickly.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from firesteel.operators.exchange.spill import SpilledList
from firesteel.spark.lanes import Lanes
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.versions import Chain

FAILURE_MARK = "FIRESTEEL-FAILURE:"

_PASSING_BYTES = 32 << 20
"""Maximum size of rows for later stages that are kept in memory."""

RunStage = Callable[[Mapping[int, StageRequest], Iterable[Row]], Iterator[Row]]
"""(request of each slot of a lane, rows for them) -> their output rows."""


class SlotFailedError(Exception):
    """The slot could not run the stage; the message carries the failure through Spark to the driver."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(f"{FAILURE_MARK}{pickle.dumps(failure).hex()}{FAILURE_MARK}")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one batch as a function for `RDD.mapPartitionsWithIndex`; the partition is the lane.

    Rows for the subtasks of this stage go to `run`; rows for later stages and reports pass through. `plans` contains
    the pickled plans of slots that do not use the one of `request`, `parents` the version of each slot that the stage
    starts from, `only_with_rows` the slots to skip if there are no rows for them.
    """

    run: RunStage
    request: StageRequest
    plans: Mapping[int, bytes]
    parents: Mapping[int, Chain]
    lanes: Lanes
    level_of_gate: tuple[int, ...]
    only_with_rows: frozenset[int] = frozenset()

    def __call__(self, lane: int, rows: Iterable[Any]) -> Iterator[tuple[int, Row]]:
        """Run the stage over the `(lane, row)` pairs of one partition and yield such pairs."""
        # In the worker and not only in the daemon: a worker imports more once it has its first task.
        _keep_modules_from_garbage_collection()
        # Set aside until the slots are done: a slot that is fed late would keep all others of the lane waiting.
        passing = SpilledList(_PASSING_BYTES, self.request.temporary)
        own = self._own_rows(rows, passing)
        requests = {slot: self.request_of(slot) for slot in self.lanes.slots[lane]}
        lane_of = self.lanes.of_slot
        for row in self.run(requests, own):
            yield lane_of[row[0]], row
        for passed, _ in passing.take():
            yield from passed

    def request_of(self, slot: int) -> StageRequest:
        """Return what a slot is asked to run."""
        plan = self.plans.get(slot, self.request.plan)
        return replace(self.request, plan=plan, parent=self.parents[slot], only_with_rows=slot in self.only_with_rows)

    def _own_rows(self, rows: Iterable[tuple[int, Row]], passing: SpilledList) -> Iterator[Row]:
        """Yield the rows for this stage; set the others aside, on disk if there are many."""
        level_of_gate, stage = self.level_of_gate, self.request.stage
        for keyed in rows:
            _, _, gate, payload = keyed[1]
            if gate >= 0 and level_of_gate[gate] == stage:
                yield keyed[1]
            else:
                passing.add([keyed], None, len(payload))


@cache
def _keep_modules_from_garbage_collection() -> None:
    """Exclude loaded modules from Spark's garbage collection after each task, which would take 30 ms."""
    gc.collect()
    gc.freeze()
