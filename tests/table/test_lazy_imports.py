"""A subtask of a table program imports neither the API nor the planner."""

from __future__ import annotations

import subprocess
import sys

import pytest

import firesteel.table

RUNTIME = """
import sys
import firesteel.columns.kernels.groups.aggregate, firesteel.columns.kernels.windows.window_aggregate
import firesteel.connectors.files.table, firesteel.connectors.blackhole.table
print([name for name in sys.modules if name.startswith("firesteel.table.planner") or name == "firesteel.table.table"])
"""


def test_the_runtime_of_a_query_imports_neither_api_nor_planner():
    done = subprocess.run([sys.executable, "-c", RUNTIME], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tables_do_not_import_pyiceberg():
    program = (
        "import sys, firesteel.table.table_environment, firesteel.connectors.iceberg.table\n"
        "print('pyiceberg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_all_public_names_can_be_imported():
    for name in firesteel.table.__all__:
        assert getattr(firesteel.table, name).__name__ == name
    assert set(firesteel.table.__all__) <= set(dir(firesteel.table))


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        firesteel.table.Nothing  # noqa: B018
