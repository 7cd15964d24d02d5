"""NumPy's values as arguments of calls into the JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

_IS: dict[str, Callable[[object], bool]] = {
    "NumpyScalarConverter": lambda value: isinstance(value, np.generic),
    "NumpyArrayConverter": lambda value: isinstance(value, np.ndarray) and value.ndim == 1,
}
"""PySpark's converter -> whether it converts a value."""


class _Converter(Protocol):
    """A converter of py4j."""

    def can_convert(self, value: object) -> bool: ...

    def convert(self, value: object, client: object) -> object: ...


class _QuickConverter:
    """A converter of PySpark that decides by itself which values it converts."""

    def __init__(self, converter: _Converter) -> None:
        self.can_convert = _IS[type(converter).__name__]
        self.convert = converter.convert


def decide_without_pandas() -> None:
    """Let the converters of this process, for each value, import nothing.

    PySpark's ask `pyspark.testing` whether NumPy is installed, which imports pandas and unittest with the first call
    into the JVM: a quarter of a second in the start of each job.
    """
    import pyspark.sql.types  # noqa: F401 - registers the converters
    from py4j.protocol import INPUT_CONVERTER

    INPUT_CONVERTER[:] = [_QuickConverter(one) if type(one).__name__ in _IS else one for one in INPUT_CONVERTER]
