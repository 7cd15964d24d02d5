"""The rows of a batch by the values of some columns, with the hashes by which state is found."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import Hashes
from firesteel.columns.row_groups import RowGroups


@dataclass(frozen=True, slots=True)
class Partitions:
    """The rows of a batch by partition.

    Attributes:
        groups: The partition of each row; some may have no row.
        keys: The key columns of the partitions.
        hashes: Their hashes.
    """

    groups: RowGroups
    keys: ColumnBatch
    hashes: Hashes
