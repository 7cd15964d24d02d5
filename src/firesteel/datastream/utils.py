"""Conversion of serialized values (module as `pyflink.datastream.utils`)."""

from __future__ import annotations

import pickle
from typing import Any

from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from firesteel.common.values.coercion import coercer


def convert_to_python_obj(data: Any, type_info: TypeInformation[Any]) -> Any:
    """Return the value of `data` in its declared type; values of pickled types are unpickled."""
    if type_info == PickledBytesTypeInfo():
        return pickle.loads(data)
    return pickled_bytes_to_python_obj(data, type_info)


def pickled_bytes_to_python_obj(data: object, type_info: TypeInformation[Any]) -> Any:
    """Return a value converted to its declared type; bytes are unpickled first."""
    value = pickle.loads(data) if isinstance(data, (bytes, bytearray)) else data
    convert = coercer(type_info)
    return value if convert is None else convert(value)
