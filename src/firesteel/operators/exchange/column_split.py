"""Hash partitioning of column batches by the values of key columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from firesteel.columns.hashing import key_groups
from firesteel.columns.orders import stable_order
from firesteel.operators.chain.operator import Timestamps
from firesteel.operators.exchange.edge_writer import Parts

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot


class SplitColumns:
    """HASH partitioning of column batches: each row goes to the channel that owns its key group."""

    def __init__(self, columns: tuple[int, ...], max_parallelism: int, channels: int) -> None:
        self._columns = columns
        self._max_parallelism = max_parallelism
        self._channels = channels

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """Return the rows of the batches grouped by channel."""
        if self._channels == 1:
            return [(0, values, None)]
        parts: list[list[Any]] = [[] for _ in range(self._channels)]
        for batch in values:
            groups = key_groups(batch, self._columns, self._max_parallelism).astype(np.int64)
            channels = groups * self._channels // self._max_parallelism
            # Stable, since the changes of a key must arrive in their order.
            order = stable_order(channels)
            bounds = np.searchsorted(channels[order], np.arange(self._channels + 1))
            for channel in range(self._channels):
                start, stop = bounds[channel], bounds[channel + 1]
                if stop > start:
                    parts[channel].append(batch.take(order[start:stop]))
        return [(channel, part, None) for channel, part in enumerate(parts) if part]

    def snapshot(self) -> Snapshot:
        """Return None, as the partitioning depends on the rows only."""
        return None

    def restore(self, snapshot: Snapshot) -> None:
        """Do nothing, as the partitioning has no state."""
