"""The bounds of Flink's 64-bit timestamps (module as `pyflink.common.constants`)."""

from __future__ import annotations

MIN_LONG_VALUE = -(2**63)
MAX_LONG_VALUE = 2**63 - 1
