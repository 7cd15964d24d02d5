"""Test kit for single operators and for whole jobs in this process, without Spark.

`harness` and `keyed_harness` pass elements to a function and record its output; `OperatorHarness` takes any operator.
`run_local` runs a program batch by batch with the code of the slot processes, and can simulate failures of slots.
`ManualClock` controls the processing time of both.
"""

from __future__ import annotations

from firesteel.testing.function_harness import harness, keyed_harness
from firesteel.testing.local_job import Fault, LocalResult, run_local
from firesteel.testing.manual_clock import ManualClock
from firesteel.testing.operator_harness import OperatorHarness

__all__ = ["Fault", "LocalResult", "ManualClock", "OperatorHarness", "harness", "keyed_harness", "run_local"]
