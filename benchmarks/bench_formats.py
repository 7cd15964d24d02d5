"""Formats of whole columns against the functions of one value: microseconds of processor time per value.

`python benchmarks/bench_formats.py [ROWS]` prints a row per format and type, with the ratio of both ways in one run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from decimal import Decimal
from statistics import median

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.avro.table import AvroMessages
from firesteel.connectors.formats.csv.table import CsvFormat
from firesteel.connectors.formats.json.codec import parse
from firesteel.connectors.formats.json.scalars import Number
from firesteel.connectors.formats.json.table import JsonFormat
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

RUNS = 3


def columns(rows: int) -> dict[str, tuple[t.DataType, pa.Array]]:
    numbers = np.arange(rows)
    moments = pa.array(numbers * 1000_000 + 1_700_000_000_678_000, pa.timestamp("us"))
    return {
        "BIGINT": (t.BigIntType(), pa.array(numbers)),
        "STRING": (t.VarCharType(t.MAX_LENGTH), pa.array([f"name{i % 1000}" for i in range(rows)])),
        "DOUBLE": (t.DoubleType(), pa.array(numbers * 0.37)),
        "DECIMAL(10, 2)": (
            t.DecimalType(10, 2),
            to_arrow([Decimal(i) / 100 for i in range(rows)], t.DecimalType(10, 2)),
        ),
        "DATE": (t.DateType(), pa.array(numbers % 10000, pa.int32()).cast(pa.date32())),
        "TIMESTAMP(3)": (t.TimestampType(3), moments),
        "TIMESTAMP_LTZ(3)": (t.LocalZonedTimestampType(3), moments.cast(pa.timestamp("us", "UTC"))),
    }


def microseconds(work: Callable[[], object], rows: int) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return median(times) * 1e6 / rows


def ways(name: str, kind: t.DataType, values: pa.Array) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return how to read and write values: by columns, and one by one."""
    known, batch = Columns(("c",), (kind,)), ColumnBatch((values,), len(values))
    if name == "json":
        json = JsonFormat(known, Options({}, name))
        messages, read, write = json.encode(batch), json.codec.reader(json.part), json.codec.writer(json.part)
        return {
            "read": (
                lambda: json.decode_messages(list(messages)),
                lambda: to_arrow([read(parse(message, Number))[0] for message in messages], kind),
            ),
            "write": (
                lambda: json.encode(batch),
                lambda: [write({"c": value}).encode() for value in pylist(values)],
            ),
        }
    if name == "avro":
        avro = AvroMessages(known, Options({"timestamp_mapping.legacy": "false"}, name))
        records = avro.encode(batch)
        return {
            "read": (
                lambda: avro.decode_messages(list(records)),
                lambda: avro.batch_of(avro.read_one_by_one(records)),
            ),
            "write": (lambda: avro.encode(batch), lambda: list(map(avro.binary, avro.records_of(batch)))),
        }
    csv, rows = CsvFormat(known, Options({}, name)), CsvFormat(known, Options({"escape-character": "\\"}, name))
    lines, codec = csv.encode(batch), csv.codec
    return {
        "read": (lambda: csv.decode_messages(list(lines)), lambda: rows.decode_messages(list(lines))),
        "write": (lambda: csv.encode(batch), lambda: [codec.line([value]).encode() for value in pylist(values)]),
    }


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print("| format | type | way | by columns, us | by values, us | times as fast |\n|---|---|---|--:|--:|--:|")
    for name in ("json", "csv", "avro"):
        for text, (kind, values) in columns(rows).items():
            for way, (ours, baseline) in ways(name, kind, values).items():
                ours_us, baseline_us = microseconds(ours, rows), microseconds(baseline, rows)
                print(
                    f"| {name} | {text} | {way} | {ours_us:.2f} | {baseline_us:.2f} | {baseline_us / ours_us:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
