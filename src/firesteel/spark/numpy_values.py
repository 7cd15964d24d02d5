"""NumPy's values as arguments of calls into the JVM."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import numpy as np


def _is_scalar(value: object) -> bool:
    return isinstance(value, _class("generic"))


def _is_vector(value: object) -> bool:
    if not isinstance(value, _class("ndarray")):
        return False
    return cast("np.ndarray[tuple[int, ...], np.dtype[np.generic]]", value).ndim == 1


def _class(name: str) -> type | tuple[()]:
    """Return a class of NumPy, or nothing while NumPy is not imported: also while another thread still imports it."""
    found: type | tuple[()] = getattr(sys.modules.get("numpy"), name, ())
    return found


_IS: dict[str, Callable[[object], bool]] = {"NumpyScalarConverter": _is_scalar, "NumpyArrayConverter": _is_vector}
"""PySpark's converter -> whether it converts a value. There is none to convert until a program has imported NumPy."""


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
