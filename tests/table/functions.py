"""User functions that tests load by name."""

from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.table.udf import udf

double = udf(lambda x: 2 * x, result_type="BIGINT")
negated = udf(lambda x: -x, result_type="STRING")


class Numbers(Source):
    """Numbers with their squares."""

    def __init__(self, count):
        super().__init__()
        self._count = count

    def discover_splits(self):
        return [SourceSplit("all", self._count)]

    def read_split(self, split_id, start, end):
        return [(i, i * i) for i in range(start, end)]


def numbers(options):
    return Numbers(int(options["count"]))
