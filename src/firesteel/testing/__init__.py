"""Test kit: operators one by one, and whole jobs in this process without Spark.

`OperatorHarness` feeds one operator and shows what it emits. `run_local` runs a program with the very code that runs in
slot processes, batch by batch, and can make slots fail in the middle. `ManualClock` is the time of both.
"""

from __future__ import annotations

from firesteel.testing.local_job import Fault, LocalResult, run_local
from firesteel.testing.manual_clock import ManualClock
from firesteel.testing.operator_harness import OperatorHarness

__all__ = ["Fault", "LocalResult", "ManualClock", "OperatorHarness", "run_local"]
