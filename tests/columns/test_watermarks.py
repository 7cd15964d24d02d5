"""Watermarks between the rows of a batch."""

import datetime
import random

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calc import AUTO_INTERVAL_MS, WatermarkFactory
from firesteel.columns.settings import QuerySettings
from firesteel.columns.values import to_arrow
from tests.columns.rexes import column

TIMESTAMP = "TIMESTAMP(3)"
BEGIN = datetime.datetime(2026, 1, 1)


def late_rows(times):
    """The rows that are late if each row is followed by its watermark, once that exceeds the last by the interval."""
    last = highest = -1
    for row, time in enumerate(times):
        if time <= last:
            yield row
        highest = max(highest, time)
        if last < 0 or highest - last > AUTO_INTERVAL_MS:
            last = highest


@pytest.mark.parametrize("seed", range(50))
def test_rows_behind_the_watermark_are_late_within_a_batch(seed):
    choose = random.Random(seed)
    times, clock = [], 1000
    for _ in range(choose.randrange(1, 60)):
        clock += choose.choice([0, 1, 50, 400])
        times.append(clock - choose.choice([0, 0, 0, 150, 500]))
    events = []
    kernel = WatermarkFactory(0, column(0, TIMESTAMP), QuerySettings()).make()
    kernel.open(KernelContext(True, 128, None, events.append, events.append, lambda: 0))
    stamps = to_arrow([BEGIN + datetime.timedelta(milliseconds=time) for time in times], column(0, TIMESTAMP).type)
    kernel.process(0, ColumnBatch((stamps,), len(times)))
    found, watermark, row = [], 0, 0
    for event in events:
        if not isinstance(event, ColumnBatch):
            watermark = event
            continue
        for (stamp,) in zip(event.columns[0].to_pylist(), strict=True):
            since = (stamp - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
            found += [row] if since <= watermark else []
            row += 1
    assert row == len(times)
    assert found == list(late_rows(times))
