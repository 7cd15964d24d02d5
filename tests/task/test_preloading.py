"""Modules that are imported before slot processes are forked."""

import subprocess
import sys

import cloudpickle

from firesteel.columns.kernels.aggregate import GroupAggregateFactory
from firesteel.common import Types
from firesteel.task.preloading import modules_of


def test_modules_of_the_plan_are_found_and_those_of_user_code_are_not() -> None:
    plan = GroupAggregateFactory((0,), (), (), (), retracts=False)
    found = modules_of(cloudpickle.dumps([plan, Types.STRING(), subprocess.Popen]))
    assert {"firesteel.columns.kernels.aggregate", "firesteel.common.type_classes.basic_types"} <= found
    assert "subprocess" not in found


def test_what_cannot_be_imported_is_left_out() -> None:
    """In a fresh process, as this one has imported everything."""
    program = """
import sys
from firesteel.task.preloading import import_modules
assert "pyarrow" not in sys.modules
assert import_modules(["firesteel.nothing", "firesteel.columns.kernels.aggregate"])
assert "pyarrow" in sys.modules
assert "pandas" in sys.modules
assert not import_modules(["firesteel.columns.kernels.aggregate"])
"""
    subprocess.run([sys.executable, "-c", program], check=True)
