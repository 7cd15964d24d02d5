"""PySpark's converters of NumPy's values, which firesteel lets decide without an import of pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from py4j import protocol
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

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
