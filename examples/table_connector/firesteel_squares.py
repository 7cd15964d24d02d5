"""The table connector `squares`: a column of numbers, and one of their squares."""

from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.table.connector import Options, SourceTable


class Squares(Source):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def discover_splits(self):
        return [SourceSplit("all", self.count)]

    def read_split(self, split_id, start, end):
        return [(n, n * n) for n in range(start, end)]


def source(table, context):
    options = Options(table.options, "squares")
    options.check(required=["count"], optional=[])
    return SourceTable(table, Squares(options.number("count")))
