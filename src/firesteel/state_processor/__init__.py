"""State Processor API: reads and writes the state of checkpoints and savepoints without running the job.

Flink: `flink-state-processor-api` (since 1.9), which PyFlink does not have. Differences: state is read by its name
instead of by a function per key, and the reader returns an iterator or a Spark DataFrame instead of a DataStream.
"""

from __future__ import annotations

from firesteel.state_processor.difference import SavepointDifference, StateDifference, compare_savepoints
from firesteel.state_processor.inspection import OperatorSummary, SavepointSummary, StateSummary, inspect_savepoint
from firesteel.state_processor.savepoint_reader import OperatorIdentifier, SavepointReader, StateNotFoundError
from firesteel.state_processor.savepoint_writer import SavepointWriter

__all__ = [
    "OperatorIdentifier",
    "OperatorSummary",
    "SavepointDifference",
    "SavepointReader",
    "SavepointSummary",
    "SavepointWriter",
    "StateDifference",
    "StateNotFoundError",
    "StateSummary",
    "compare_savepoints",
    "inspect_savepoint",
]
