"""Reads and writes the state of checkpoints and savepoints without running their job.

Flink: the State Processor API (`flink-state-processor-api`, since 1.9), which PyFlink does not have. Differs in that a
state is read by its name and not by a function that is called for each key, and in that the reader is an iterator, or a
DataFrame of Spark, and no DataStream.
"""

from __future__ import annotations

from firesteel.state_processor.inspection import OperatorSummary, SavepointSummary, StateSummary, inspect_savepoint
from firesteel.state_processor.savepoint_reader import OperatorIdentifier, SavepointReader, StateNotFoundError
from firesteel.state_processor.savepoint_writer import SavepointWriter

__all__ = [
    "OperatorIdentifier",
    "OperatorSummary",
    "SavepointReader",
    "SavepointSummary",
    "SavepointWriter",
    "StateNotFoundError",
    "StateSummary",
    "inspect_savepoint",
]
