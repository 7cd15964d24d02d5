"""PySpark's converters of NumPy's values, which firesteel lets decide without an import of pandas."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from py4j import protocol
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

import firesteel
from firesteel.spark.numpy_values import decide_without_pandas

pytestmark = pytest.mark.libraries

VALUES = [1, "a", None, [1], np.int64(1), np.float32(2), np.bool_(True), np.array([1]), np.array([[1]]), np.array(1)]
PROGRAM = """
import sys
from py4j.protocol import INPUT_CONVERTER
from firesteel.spark.numpy_values import decide_without_pandas
decide_without_pandas()
assert len(INPUT_CONVERTER) > 5
assert not any(converter.can_convert("text") for converter in INPUT_CONVERTER)
print(*{"pandas", "pyspark.testing"} & sys.modules.keys())
"""


def test_the_same_values_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [NumpyScalarConverter(), NumpyArrayConverter()]
    monkeypatch.setattr(protocol, "INPUT_CONVERTER", list(own))
    decide_without_pandas()
    quick = protocol.INPUT_CONVERTER
    assert not {*map(type, quick)} & {*map(type, own)}
    for before, after in zip(own, quick, strict=True):
        assert [after.can_convert(value) for value in VALUES] == [before.can_convert(value) for value in VALUES]
    assert quick[0].convert(np.int64(7), None) == 7


def test_a_call_into_the_jvm_imports_no_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [], done.stderr
    assert done.returncode == 0, done.stderr


def test_another_thread_may_be_in_the_middle_of_importing_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "INPUT_CONVERTER", [NumpyScalarConverter(), NumpyArrayConverter()])
    decide_without_pandas()
    monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))
    assert not any(converter.can_convert("text") for converter in protocol.INPUT_CONVERTER)


def of_unfinished_module(node: ast.AST) -> bool:
    """Return whether an expression is an attribute of an entry of `sys.modules`, which may have none yet."""
    return isinstance(node, ast.Attribute) and ast.unparse(node.value).startswith(("sys.modules[", "sys.modules.get("))


def test_what_another_thread_imports_is_not_used_before_its_import_ends() -> None:
    assert of_unfinished_module(ast.parse('sys.modules["a"].b', mode="eval").body)
    for path in Path(firesteel.__file__).parent.rglob("*.py"):
        found = [node.lineno for node in ast.walk(ast.parse(path.read_text())) if of_unfinished_module(node)]
        assert not found, f"{path}: import the module, or ask with getattr and a default, in lines {found}"
