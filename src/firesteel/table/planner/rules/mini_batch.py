"""Options of mini-batch aggregation (`table.exec.mini-batch.*`). Flink: `MiniBatchGroupAggFunction`."""

from __future__ import annotations

import datetime
from typing import Any

from firesteel.common.table_errors import ValidationException

_ENABLED = "table.exec.mini-batch.enabled"
_LATENCY = "table.exec.mini-batch.allow-latency"
_SIZE = "table.exec.mini-batch.size"


def mini_batch_rows(config: Any) -> int:
    """Return the maximum number of rows of a mini-batch, or 0 if each row is processed by itself.

    A mini-batch also ends with each column batch, so that no row waits for as long as the permitted latency.

    Raises:
        ValidationException: Mini-batches are enabled without a positive latency and size.
    """
    if config.get(_ENABLED, "false").lower() != "true":
        return 0
    if config.get_duration(_LATENCY, datetime.timedelta(0)) <= datetime.timedelta(0):
        raise ValidationException(
            f"MiniBatch Latency must be greater than 0 ms. Set '{_LATENCY}', for example to '5 s'"
        )
    size = config.get(_SIZE, "-1")
    if not size.strip().isdigit() or int(size) == 0:
        raise ValidationException(f"Key: '{_SIZE}' , default: -1 (fallback keys: []) must be > 0. Found '{size}'")
    return int(size)
