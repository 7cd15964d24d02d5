"""Names of what neither pyarrow nor numpy gives a type to."""

from __future__ import annotations

from typing import Any

import numpy as np

Cell = Any
"""A value of a column as Python has it: None, or what its SQL type says."""

Array = np.ndarray[Any, Any]
"""A column as numpy has it; what it holds shows at run time."""

DType = np.dtype[Any]
"""The type of such a column's elements."""
