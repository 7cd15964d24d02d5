"""Tables of pandas data, and results as pandas data. PyFlink: `serializers.ArrowSerializer`."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.common.types import Row
from firesteel.connectors.table_connector import INSERT_ONLY
from firesteel.table.environment.materialized_rows import materialized
from firesteel.table.planner.rel.rel import StreamScan

if TYPE_CHECKING:
    import pandas as pd

    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_BATCH_ROWS = 10_000
_PLAIN: dict[pa.DataType, t.DataType] = {
    pa.bool_(): t.BooleanType(),
    pa.int8(): t.TinyIntType(),
    pa.int16(): t.SmallIntType(),
    pa.int32(): t.IntType(),
    pa.int64(): t.BigIntType(),
    pa.float32(): t.FloatType(),
    pa.float64(): t.DoubleType(),
    pa.string(): t.VarCharType(t.MAX_LENGTH),
    pa.large_string(): t.VarCharType(t.MAX_LENGTH),
    pa.binary(): t.VarBinaryType(t.MAX_LENGTH),
    pa.date32(): t.DateType(),
    pa.null(): t.VarCharType(t.MAX_LENGTH),
}
_DIGITS = {"s": 0, "ms": 3, "us": 9, "ns": 9}
"""The precision by unit; pandas has microseconds by default as of version 3, and had nanoseconds before."""
_UNITS = ("ms", "us", "ns")
"""The units of three digits each."""


def pandas_scan(frame: pd.DataFrame, schema: object) -> StreamScan:
    """Return the node that reads a `pandas.DataFrame`.

    Raises:
        TypeError: it is something else, a column has a type that SQL has not, or values that its declared type has not.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(frame)}")
    return arrow_scan(pa.Table.from_pandas(frame, preserve_index=False), schema, "from_pandas")


def arrow_scan(found: pa.Table, schema: object, name: str) -> StreamScan:
    """Return the node that reads a `pyarrow.Table`.

    Args:
        found: The data.
        schema: A row type, names, or types of the columns; None: those of the data.
        name: Shown in plans.

    Raises:
        TypeError: a column has a type that SQL has not.
    """
    row_type = _row_type(found.schema, schema)
    arrays = [_array(found.column(index), field) for index, field in enumerate(row_type.fields)]
    batches = [
        ColumnBatch(tuple(array.slice(start, _BATCH_ROWS) for array in arrays), min(_BATCH_ROWS, len(found) - start))
        for start in range(0, len(found), _BATCH_ROWS)
    ]
    return StreamScan(_Collection(batches), row_type, INSERT_ONLY, True, name)


class _Collection:
    """A factory of the stream of column batches."""

    def __init__(self, batches: list[ColumnBatch]) -> None:
        self._batches = batches

    def __call__(self, environment: StreamExecutionEnvironment) -> Any:
        return environment.from_collection(self._batches)


def _array(column: Any, field: t.RowField) -> pa.Array:
    """Return a column as its declared type; PyFlink refuses to cut values and to make numbers of texts, too."""
    array = column.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    wanted = arrow_type(field.data_type)
    if array.type == wanted and not pa.types.is_timestamp(wanted):
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_text(array.type) != _is_text(wanted) and not pa.types.is_null(array.type):
        raise _mismatch(field, f"Expected a {'string' if _is_text(wanted) else wanted}, got {array.type}")
    try:
        if isinstance(field.data_type, t.TimestampType | t.LocalZonedTimestampType):
            zone = array.type.tz if pa.types.is_timestamp(array.type) else None
            array = array.cast(
                pa.timestamp(_unit(field.data_type), zone)
            )  # the Arrow type may be finer than the SQL type
        return array.cast(wanted)
    except pa.ArrowInvalid as error:
        raise _mismatch(field, str(error)) from error
    except pa.ArrowNotImplementedError:
        return to_arrow(pylist(array), field.data_type)


def _unit(kind: t.TimestampType | t.LocalZonedTimestampType) -> str:
    return "s" if kind.precision == 0 else _UNITS[(kind.precision - 1) // 3]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def _mismatch(field: t.RowField, found: str) -> TypeError:
    return TypeError(f"Column '{field.name}' is declared as {type_text(field.data_type)}. {found}")


def _row_type(found: pa.Schema, schema: object) -> t.RowType:
    names, types = list(found.names), [_type_of(field) for field in found]
    if isinstance(schema, t.RowType):
        names, types = schema.field_names(), schema.field_types()
    elif isinstance(schema, (list, tuple)) and schema and isinstance(schema[0], t.DataType):
        types = list(schema)
    elif isinstance(schema, (list, tuple)) and schema:
        names = [str(name) for name in schema]
    elif schema is not None:
        raise TypeError(f"Unsupported schema type: {type(schema)}")
    if not len(names) == len(types) == len(found):
        raise ValueError(f"The data has {len(found)} columns, but the schema {max(len(names), len(types))}")
    return t.RowType([t.RowField(name, kind) for name, kind in zip(names, types, strict=True)])


def _type_of(field: pa.Field) -> t.DataType:
    return _logical(field.type, field.name)


def _logical(kind: pa.DataType, name: str) -> t.DataType:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        make = t.TimestampType if kind.tz is None else t.LocalZonedTimestampType
        return make(_DIGITS[kind.unit])
    if pa.types.is_time(kind):
        return t.TimeType(_DIGITS[kind.unit])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return t.ArrayType(_logical(kind.value_type, name))
    if pa.types.is_map(kind):
        return t.MapType(_logical(kind.key_type, name), _logical(kind.item_type, name))
    if pa.types.is_struct(kind):
        return t.RowType([t.RowField(inner.name, _logical(inner.type, inner.name)) for inner in kind])
    if pa.types.is_dictionary(kind):
        return _logical(kind.value_type, name)
    if pa.types.is_unsigned_integer(kind):
        return t.BigIntType()
    raise TypeError(f"Column '{name}': no SQL type for {kind}")


def to_pandas(rows: Iterable[Row], row_type: t.RowType, time_zone: datetime.tzinfo) -> pd.DataFrame:
    """Return the final rows of a changelog as a `pandas.DataFrame`.

    Args:
        rows: Rows with kinds.
        row_type: Names and types of the columns.
        time_zone: The session time zone, in which TIMESTAMP_LTZ is shown.
    """
    import pandas as pd

    left = materialized(rows)
    columns = {}
    for index, (name, kind) in enumerate(zip(row_type.names, row_type.field_types(), strict=True)):
        array = to_arrow([row[index] for row in left], kind)
        columns[index] = _series(array, kind, time_zone).rename(name)
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index(row_type.names)
    return frame


def _series(array: pa.Array, kind: t.DataType, time_zone: datetime.tzinfo) -> pd.Series[Any]:
    import pandas as pd

    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        series = array.cast(pa.timestamp(_unit(kind), array.type.tz), safe=False).to_pandas()
        return series.dt.tz_convert(time_zone) if array.type.tz else series
    if pa.types.is_string(array.type):
        return pd.Series(pylist(array), dtype=object)
    return array.to_pandas(date_as_object=True, timestamp_as_object=False, maps_as_pydicts="strict")
