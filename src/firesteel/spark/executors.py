"""The executors of one Spark application, managed through its SparkContext.

Why: `docs/decisions/0015-executors-as-taskmanagers.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from firesteel.spark.placed_partitions import placed_partitions
from firesteel.spark.spark_errors import ExecutorUnreachableError

ON_DEMAND = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.minExecutors": "0",
    # Spark refuses dynamic allocation without this or an external shuffle service.
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.locality.wait.process": "10s",
    **{
        f"spark.dynamicAllocation.{name}": "1000000000s"
        for name in (
            "schedulerBacklogTimeout",
            "sustainedSchedulerBacklogTimeout",
            "executorIdleTimeout",
            "cachedExecutorIdleTimeout",
            "shuffleTracking.timeout",
        )
    },
}
"""Settings with which Spark starts without executors and neither adds nor removes any by itself.

Tasks with a preferred executor wait for it indefinitely; otherwise two such functions could repeatedly take each
other's executor. No other task prefers an executor.
"""

_PLACEMENTS = 20


class SparkExecutors:
    """The operations on the executors of an application; every call may block for some milliseconds.

    Args:
        context: Its SparkContext.

    Attributes:
        application_id: The application's id from Spark's cluster manager.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._java = context._jsc.sc()
        self._utils = context._jvm.org.apache.spark.api.python.PythonUtils
        self.application_id: str = context.applicationId

    @property
    def is_stopped(self) -> bool:
        """Whether Spark has ended the application, for instance as its executors failed again and again."""
        return bool(self._java.isStopped())

    def alive(self) -> dict[str, str]:
        """Return host by executor id, as recorded by Spark's own listener."""
        found, hosts = self._java.statusStore().executorList(True).iterator(), {}
        while found.hasNext():
            executor = found.next()
            hosts[executor.id()] = executor.hostPort().rsplit(":", 1)[0]
        hosts.pop("driver", None)
        return hosts

    def reason_of_loss(self, executor_id: str) -> str:
        """Return Spark's reason for the end of an executor."""
        reason = self._java.statusStore().executorSummary(executor_id).removeReason()
        return str(reason.get()) if reason.isDefined() else "it is gone"

    def require(self, total: int) -> None:
        """Request `total` executors from Spark's cluster manager; running ones are not stopped."""
        self._java.requestTotalExecutors(total, 0, self._utils.toScalaMap(self._context._jvm.java.util.HashMap()))

    def kill(self, executor_id: str) -> None:
        """Kill an executor and reduce the requested number by one."""
        ids = self._context._jvm.java.util.ArrayList()
        ids.add(executor_id)
        # adjustTargetNumExecutors, countFailures, force: without the first, Spark would replace it at once.
        self._java.schedulerBackend().killExecutors(self._utils.toSeq(ids), True, False, True)

    def run_on(self, executor_id: str, host: str, function: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
        """Run a function in a Python worker of one executor.

        Args:
            executor_id: The executor. If the function runs elsewhere, it yields None first and is placed again.
            host: The host of the executor.
            function: A function of a partition's rows, which are empty.

        Raises:
            ExecutorUnreachableError: the executor is gone, or Spark repeatedly placed the function elsewhere.
            Py4JJavaError: the function raised.
        """
        for _ in range(_PLACEMENTS):
            if executor_id not in self.alive():
                break
            answer: list[Any] = (
                placed_partitions(self._context, [f"executor_{host}_{executor_id}"]).mapPartitions(function).collect()
            )
            if answer[0] is not None:
                return answer
        raise ExecutorUnreachableError(executor_id, host)
