"""Large functions of a Spark job, which Spark's executors fetch once instead of with each task.

PySpark broadcasts a large function by itself, and never destroys that broadcast: each Spark job would leave a copy on
the driver's disk and in the memory of driver and executors.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from py4j.protocol import Py4JError

_MOST_BYTES_WITH_TASK = 512 << 10
"""Below `spark.broadcast.UDFCompressionThreshold` (1 MB), above which PySpark broadcasts by itself."""

StageFunction = Callable[[int, Iterable[Any]], Iterator[Any]]
"""A function for `RDD.mapPartitionsWithIndex`."""


@dataclass(frozen=True, slots=True)
class _SharedStage:
    """A function that each worker takes from a broadcast."""

    pickled_stage: Any

    def __call__(self, lane: int, rows: Iterable[Any]) -> Iterator[Any]:
        stage: StageFunction = pickle.loads(self.pickled_stage.value)
        return stage(lane, rows)


class SharedStages:
    """Shares the functions of one Spark job, and frees what they take when the block ends.

    Args:
        context: The SparkContext.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._broadcasts: list[Any] = []

    def share(self, stage: StageFunction) -> StageFunction:
        """Return a function that does the same and is small."""
        data = pickle.dumps(stage, protocol=pickle.HIGHEST_PROTOCOL)
        if len(data) <= _MOST_BYTES_WITH_TASK:
            return stage
        self._broadcasts.append(self._context.broadcast(data))
        return _SharedStage(self._broadcasts[-1])

    def __enter__(self) -> SharedStages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broadcast in self._broadcasts:
            with contextlib.suppress(Py4JError, OSError):  # With the JVM all of it is gone.
                broadcast.destroy()
