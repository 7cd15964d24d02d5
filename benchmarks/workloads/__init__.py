"""The workloads W1 to W6: each a DataStream program for firesteel and PyFlink, and its hand-written PySpark version.

A workload is a module with

- `TITLE` and `TEXT`: what it does;
- `build(positions)`: the DataStream program, from a stream of positions (0, 1, 2, ... in event time) to its results;
- `expected(records)`: how many results that many positions give;
- `rows(positions)` and `ROW`: for PySpark, what comes before the exchange by the column `key`, and its columns;
- `results(batches)`: for PySpark, what comes behind the exchange: lists of rows in, lists of results out;
- `step(state, row)` and, with windows, `fire(state, end_ms)`: the same for `transformWithState`, key by key.

W1 has no exchange: its `rows` are its results.
"""

from importlib import import_module
from types import ModuleType

NAMES = {
    "w1": "w1_stateless",
    "w2": "w2_word_count",
    "w3": "w3_keyed_state",
    "w4": "w4_tumbling_aggregate",
    "w5": "w5_sliding_top",
    "w6": "w6_window_join",
}


def workload(name: str) -> ModuleType:
    """Return the module of a workload."""
    return import_module(f"workloads.{NAMES[name]}")
