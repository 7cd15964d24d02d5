"""A SQLite catalog and a local warehouse for tests of Iceberg tables."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.connectors.iceberg.committer import WriteMode
from firesteel.connectors.iceberg.source import IcebergSource, files_of
from firesteel.connectors.iceberg.tables import IcebergCatalogAddress, IcebergTableAddress
from firesteel.connectors.iceberg.writer import IcebergSink
from firesteel.connectors.table_connector import Column, ResolvedTable, ScanRequest
from firesteel.connectors.table_options import Options
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext

TYPES = {
    "b": "BOOLEAN",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "de": "DECIMAL(10, 2)",
    "da": "DATE",
    "ti": "TIME(0)",
    "ts": "TIMESTAMP(6)",
    "tz": "TIMESTAMP_LTZ(6)",
    "s": "STRING",
    "v": "BYTES",
    "x": "BINARY(3)",
    "r": "ROW<`a` INT, `b` STRING>",
    "a": "ARRAY<INT>",
    "m": "MAP<STRING NOT NULL, BIGINT>",
}
VALUES = (
    "TRUE, 1, 2, CAST(0.5 AS FLOAT), CAST(0.25 AS DOUBLE), CAST(1.5 AS DECIMAL(10, 2)), DATE '2024-01-02', "
    "TIME '03:04:05', CAST(TIMESTAMP '2024-01-02 03:04:05.123456' AS TIMESTAMP(6)), "
    "CAST(TIMESTAMP '2024-01-02 03:04:05' AS TIMESTAMP_LTZ(6)), 'x', CAST(X'6162' AS BYTES), CAST(X'616263' AS "
    "BINARY(3)), ROW(1, 'y'), ARRAY[1, 2], MAP['k', CAST(3 AS BIGINT)]"
)


def options_of(directory):
    return {"catalog-type": "jdbc", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}/lake"}


def with_text(directory, **options):
    options = {"connector": "iceberg", "catalog-name": "lake", "catalog-database": "db", **options_of(directory),
               **{key.replace("_", "-"): value for key, value in options.items()}}  # fmt: skip
    return ", ".join(f"'{key}' = '{value}'" for key, value in options.items())


def selected(t_env, query):
    with t_env.execute_sql(query).collect() as rows:
        return sorted(tuple(row) for row in rows)


class Lake:
    """A table `t`, which is written and read by the parts of the connector without a job."""

    def __init__(self, directory, columns="k INT NOT NULL, v STRING", keys=("k",), partitions=(), options=None):
        declared = (column.split(" ", 1) for column in columns.split(", "))
        self.columns = tuple(Column(name, parse_type(kind)) for name, kind in declared)
        self.address = IcebergTableAddress(
            IcebergCatalogAddress.of_options("lake", options or options_of(directory)), "db", "t"
        )
        self.spool = str(directory / "spool")
        path = ("lake", "db", "t")
        self.address.ensure(ResolvedTable(path, self.columns, {}, primary_key=keys, partition_keys=partitions))

    def sink(self, mode=WriteMode.APPEND):
        keys = (0,) if mode is WriteMode.UPSERT else ()
        return pickle.loads(
            pickle.dumps(IcebergSink(self.address, tuple(column.name for column in self.columns), keys, mode))
        )

    def writer(self, sink, is_checkpoint=lambda: True, subtask=0):
        context = WriterInitContext("job", "vertex/operator", subtask, 2, 0, False, None, {}, lambda: 0,
                                    is_checkpoint=is_checkpoint, spool_directory=self.spool)  # fmt: skip
        return sink.create_writer(context)

    def batch(self, *rows, kinds=None):
        fields = zip(self.columns, zip(*rows, strict=True), strict=True)
        columns = tuple(pa.array(values, arrow_type(column.type)) for column, values in fields)
        return ColumnBatch(columns, len(rows), None if kinds is None else np.array(kinds, np.int8))

    def written(self, sink, *batches, number=0, subtask=0):
        """Return the requests to commit for the batches of one subtask and checkpoint."""
        writer = self.writer(sink, subtask=subtask)
        writer.write_all(list(batches), None)
        writer.flush(False)
        found = [CommitRequest("job", "vertex/operator", subtask, number, part) for part in writer.prepare_commit()]
        writer.close()
        return pickle.loads(pickle.dumps(found))

    def commit(self, sink, *batches, **where):
        requests = self.written(sink, *batches, **where)
        committer = sink.create_committer()
        committer.check(requests)
        committer.commit(requests)
        return requests

    def rows(self):
        with self.address.opened() as table:
            return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())

    def snapshots(self):
        with self.address.opened() as table:
            return list(table.snapshots())

    def source(self, files=None, monitor_ms=None, partitions=None):
        with self.address.opened() as table:
            files = files or files_of(Options({}, "iceberg"), table, monitor_ms is None)
        return IcebergSource(self.address, files, ScanRequest(self.columns, partitions=partitions), monitor_ms)


def read(source):
    source = pickle.loads(pickle.dumps(source))
    batches = [batch for split in source.discover_splits() for batch in source.read_split(split.split_id, 0, 1)]
    return sorted(row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))
