"""Pickling of user code: `cloudpickle`, with the file names of code objects kept.

All modules of firesteel pickle through this one (`tests/common/test_pickling.py` holds it).
"""

from __future__ import annotations

import io
import pickle
from collections import ChainMap
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import ClassVar

import cloudpickle

from firesteel.common.trust.unpicklable import UnpicklableError, explained

__all__ = ["dumps", "pickle_by_value", "pickled"]


def dumps(value: object) -> bytes:
    """Return the pickled bytes of a value; functions and classes of the user's script are pickled by value.

    Args:
        value: Any object that `cloudpickle` can pickle.

    Raises:
        UnpicklableError: the value, or something that it refers to, cannot be pickled; it says what.

    Example:
        >>> import pickle
        >>> increment = pickle.loads(dumps(lambda number: number + 1))
        >>> increment(1)
        2
    """
    try:
        return _dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        found = explained(value, _dumps)
        if found is None:
            raise
        raise UnpicklableError(
            f"{found}, which cannot be sent to other processes ({error}); make it where it is used, as in open()"
        ) from error


def _dumps(value: object) -> bytes:
    with io.BytesIO() as file:
        _Pickler(file).dump(value)
        return file.getvalue()


def pickled(value: object) -> bytes:
    """Return the pickled bytes of a value; objects of classes defined in the user's script are pickled by value."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return dumps(value)


def pickle_by_value(module: ModuleType) -> None:
    """Pickle functions and classes of a module by value from now on, as the receivers cannot import it."""
    cloudpickle.register_pickle_by_value(module)


def _reduce_code(code: CodeType) -> tuple[Callable[..., CodeType], tuple[object, ...]]:
    make, arguments = cloudpickle.Pickler.dispatch_table[CodeType](code)
    return _code_of_file, (code.co_filename, make, arguments)


def _code_of_file(filename: str, make: Callable[..., CodeType], arguments: tuple[object, ...]) -> CodeType:
    return make(*arguments).replace(co_filename=filename)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # has no types
    # cloudpickle 3.1.2 and later pickle `<dynamic-code>` instead of the file name, to make the bytes independent of the
    # place of the code. Errors must name the user's file, so it is set again after cloudpickle has made the code.
    dispatch_table: ClassVar[ChainMap[type, object]] = ChainMap(
        {CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table
    )
