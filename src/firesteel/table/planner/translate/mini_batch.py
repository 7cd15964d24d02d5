"""Options of mini-batch aggregation (`table.exec.mini-batch.*`). Flink: `MiniBatchGroupAggFunction`."""

from __future__ import annotations

from firesteel.common.options.table_options import (
    TABLE_MINI_BATCH_ENABLED,
    TABLE_MINI_BATCH_LATENCY,
    TABLE_MINI_BATCH_SIZE,
)
from firesteel.common.table_errors import ValidationException
from firesteel.table.table_config import TableConfig


def mini_batch_rows(config: TableConfig) -> int:
    """Return the maximum number of rows of a mini-batch, or 0 if each row is processed by itself.

    A mini-batch also ends with each column batch, so that no row waits for as long as the permitted latency.

    Raises:
        ValidationException: Mini-batches are enabled without a positive latency and size.
    """
    options = config.get_configuration()
    if not options.get(TABLE_MINI_BATCH_ENABLED):
        return 0
    if options.get(TABLE_MINI_BATCH_LATENCY) <= 0:
        raise ValidationException(
            f"MiniBatch Latency must be greater than 0 ms. Set '{TABLE_MINI_BATCH_LATENCY}', for example to '5 s'"
        )
    size = options.get(TABLE_MINI_BATCH_SIZE)
    if size <= 0:
        raise ValidationException(
            f"Key: '{TABLE_MINI_BATCH_SIZE}' , default: -1 (fallback keys: []) must be > 0. Found '{size}'"
        )
    return size
