"""Type variables of aggregate functions, which programs imported from `pyflink.table.udf`."""

from __future__ import annotations

from firesteel.pyflink1.removed import Removed
from firesteel.table.functions.udf_base import ACC, T

_INSTEAD = "a TypeVar of your own"

REMOVED = (Removed(("table.udf",), "T", T, _INSTEAD), Removed(("table.udf",), "ACC", ACC, _INSTEAD))
