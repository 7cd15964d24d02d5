"""Modules of PyFlink 1 that PyFlink 2 has removed, without `pyflink.`, and the modules that have their names here."""

from __future__ import annotations

REMOVED_MODULES = {
    "dataset": "firesteel.pyflink1.dataset",
    "dataset.execution_environment": "firesteel.pyflink1.dataset.execution_environment",
    "table.sinks": "firesteel.pyflink1.tables.csv_sink",
    "table.sources": "firesteel.pyflink1.tables.csv_source",
}
