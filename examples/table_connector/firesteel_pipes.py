"""The format `pipes`: texts between vertical bars."""

from firesteel.table.connector import RowFormat


class Pipes(RowFormat):
    def read_row(self, record):
        return record.decode().split("|")

    def write_row(self, row):
        return "|".join(map(str, row)).encode()


def make(columns, options):
    options.check(required=[], optional=[])
    return Pipes(columns, options)
