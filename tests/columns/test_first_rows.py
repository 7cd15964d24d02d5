"""The first row of a partition in event time."""

from __future__ import annotations

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.first_rows import FirstRowFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend


def test_the_first_row_is_emitted_once_when_the_watermark_passes_it():
    emitted, backend = [], KeyedStateBackend(None, 128)
    kernel = FirstRowFactory((0,), 1, (parse_type("STRING"), parse_type("TIMESTAMP(3)"))).make()
    kernel.open(KernelContext(True, 128, backend.table, emitted.append, lambda _: None, lambda: 0))

    def add(*rows):
        keys, seconds = zip(*rows, strict=True)
        times = pa.array([second * 1_000_000 for second in seconds]).cast(pa.timestamp("us"))
        kernel.process(0, ColumnBatch((pa.array(keys), times), len(rows)))

    def results(second):
        kernel.watermark(second * 1000)
        found = [(row[0], row[1].second) for batch in emitted for row in rows_of(batch)]
        emitted.clear()
        return found

    add(("a", 5), ("b", 9))
    assert results(4) == []
    add(("a", 4), ("a", 3), ("b", 9))
    assert results(8) == [("a", 4)], "3 is before the watermark, 4 is not"
    add(("a", 8), ("b", 20), ("c", 8))
    assert results(2**40) == [("c", 8), ("b", 9)]
    assert set(backend.table("row").data.values()) == {()}
