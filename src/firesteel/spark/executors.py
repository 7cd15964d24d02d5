"""The executors of one Spark application: asked for, seen, given tasks and released through its SparkContext."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from firesteel.spark.errors import ExecutorUnreachableError
from firesteel.spark.placed_partitions import placed_partitions

ON_DEMAND = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.minExecutors": "0",
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
"""Settings with which Spark begins with no executor and neither adds nor removes one by itself.

What runs on a certain executor waits for it: else two such functions may each take the other's executor, again and
again. Nothing else that runs prefers an executor.
"""

_PLACEMENTS = 20


class SparkExecutors:
    """What can be done with the executors of an application; every call may block for some milliseconds.

    Args:
        context: Its SparkContext.

    Attributes:
        application_id: As Spark's cluster manager named it.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._java = context._jsc.sc()
        self._utils = context._jvm.org.apache.spark.api.python.PythonUtils
        self.application_id: str = context.applicationId

    def alive(self) -> dict[str, str]:
        """Host by executor id, as Spark's own listener has noted them."""
        found, hosts = self._java.statusStore().executorList(True).iterator(), {}
        while found.hasNext():
            executor = found.next()
            hosts[executor.id()] = executor.hostPort().rsplit(":", 1)[0]
        hosts.pop("driver", None)
        return hosts

    def reason_of_loss(self, executor_id: str) -> str:
        """Why an executor ended, in Spark's words."""
        reason = self._java.statusStore().executorSummary(executor_id).removeReason()
        return str(reason.get()) if reason.isDefined() else "it is gone"

    def require(self, total: int) -> None:
        """Let Spark's cluster manager bring the number of executors to `total`; it stops none for that."""
        self._java.requestTotalExecutors(total, 0, self._utils.toScalaMap(self._context._jvm.java.util.HashMap()))

    def kill(self, executor_id: str) -> None:
        """End an executor, and ask for one less."""
        ids = self._context._jvm.java.util.ArrayList()
        ids.add(executor_id)
        self._java.schedulerBackend().killExecutors(self._utils.toSeq(ids), True, False, True)

    def run_on(self, executor_id: str, host: str, function: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
        """Run a function in a Python worker of one executor.

        Args:
            executor_id: Where. The function gives None first if it finds itself elsewhere, and is then placed again.
            host: The host of the executor.
            function: Takes the rows of a partition, of which there are none.

        Raises:
            ExecutorUnreachableError: it is gone, or Spark placed the function elsewhere again and again.
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
