"""`udf` with `udf_type`, which became `func_type`."""

from __future__ import annotations

from firesteel.pyflink1.removed import Removed, note
from firesteel.table import udf as today

_INSTEAD = "udf(func_type=...)"


_udf_today = today.udf


def udf(
    f: object = None,
    input_types: object = None,
    result_type: object = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> object:
    """Create a scalar function; `udf_type` is the older name of `func_type`."""
    if udf_type is not None:
        note("udf(udf_type=...)", _INSTEAD)
    return _udf_today(f, input_types, result_type, deterministic, name, udf_type or func_type)


REMOVED = (Removed(("table.udf",), "udf", udf, _INSTEAD, widens=True),)
