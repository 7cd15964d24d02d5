"""A batch as a Spark job: an RDD with one Spark stage per stage, whose partitions are the lanes.

An empty partition per lane goes through `mapPartitionsWithIndex` for the first stage, then through an exchange and
another one for each further stage. No other part of Spark is used: SQL planning, offset logs and commit logs would cost
more than a small batch itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from firesteel.spark.exchange import Exchange
from firesteel.spark.lanes import Lanes
from firesteel.spark.placed_partitions import placed_partitions
from firesteel.spark.rdds import call_site
from firesteel.spark.shared_stages import SharedStages
from firesteel.spark.shim import Stage
from firesteel.task.protocol import Row


class RunStages(Protocol):
    """A way to run the stages of a batch one after the other.

    Attributes:
        lanes: The lanes that the stages must be made for.
    """

    lanes: Lanes

    def __call__(self, stages: Sequence[Stage]) -> Iterable[Row]:
        """Return the output of the last stage."""

    def expect(self) -> None:
        """Prepare for a batch that comes within some milliseconds."""

    def stand_down(self) -> None:
        """Release what was prepared: there is nothing to read, or another object runs the next batch."""


class LaneJobs:
    """Runs the stages of a batch in tasks of Spark, one per lane.

    Args:
        context: The SparkContext.
        lanes: Which slots each partition serves.
        fuses: Whether one task runs all stages if there is a single lane: the output of a stage is then already where
            the next one needs it, as in Spark SQL, which plans no exchange between single partitions. If Spark repeats
            the task, it repeats all of them, which slots answer from their records.
    """

    def __init__(self, context: Any, lanes: Lanes, fuses: bool) -> None:
        self.lanes = lanes
        self._context = context
        self._partitions = placed_partitions(context, lanes.hosts)
        self._exchange = None if fuses and len(lanes.slots) == 1 else Exchange(context, len(lanes.slots))

    def expect(self) -> None:
        """Prepare nothing: the tasks get the stages of their batch when they are made."""

    def stand_down(self) -> None:
        """Release nothing."""

    def __call__(self, stages: Sequence[Stage]) -> list[Row]:
        """Run a Spark job and return the output of the last stage.

        Raises:
            Py4JJavaError: user code raised, or Spark gave up the batch.
        """
        rows = self._partitions
        with call_site(self._context), SharedStages(self._context) as shared:
            for number, stage in enumerate(stages):
                if number > 0 and self._exchange is not None:
                    rows = self._exchange(rows)
                rows = rows.mapPartitionsWithIndex(shared.share(stage))
            try:
                return [row for _, row in rows.collect()]
            finally:
                if len(stages) > 1 and self._exchange is not None:
                    # Spark removes shuffle files when the driver's garbage collector finds them, which small batches
                    # outrun.
                    rows.cleanShuffleDependencies()
