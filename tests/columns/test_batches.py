"""Column batches as elements of a stream."""

from __future__ import annotations

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.operators.chain.record_count import record_count
from firesteel.operators.exchange import edge_writer
from firesteel.operators.exchange.column_split import SplitColumns


def batch(*numbers):
    return ColumnBatch((pa.array(numbers, pa.int64()),), len(numbers))


def test_the_records_of_a_batch_are_its_rows():
    assert record_count([batch(1, 2, 3), batch(4)]) == 4


def test_other_elements_are_records_themselves():
    assert record_count(["text", [1, 2]]) == 2
    assert record_count([]) == 0


def test_an_edge_counts_rows():
    writer = edge_writer.EdgeWriter(SplitColumns((0,), 128, 2), [0, 1], lambda channel, payload: None)
    writer.process([batch(*range(100))], None)
    writer.process([batch(1)], None)
    assert writer.records_out == 101
