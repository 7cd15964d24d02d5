"""The table connector `lines`: a file with a line for each row."""

from firesteel.datastream.connectors.base import Sink, SinkWriter
from firesteel.table.connector import Options, SinkTable


class LineWriter(SinkWriter):
    def __init__(self, path):
        self.path = path

    def write(self, row, timestamp):
        with open(self.path, "a") as file:
            print(*row, file=file)


class Lines(Sink):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def create_writer(self, context):
        return LineWriter(self.path)


def sink(table, request, context):
    options = Options(table.options, "lines")
    options.check(required=["path"], optional=[])
    return SinkTable(table, Lines(options.text("path")))
