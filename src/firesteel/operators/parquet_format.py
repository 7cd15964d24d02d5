"""Rows as Parquet files, by pyarrow."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    _ElementTypeInfo,
)
from firesteel.common.types import Row

ROW_GROUP_ROWS = 64 * 1024

_SCALARS = {
    BasicType.STRING: "string",
    BasicType.CHAR: "string",
    BasicType.BOOLEAN: "bool_",
    BasicType.BYTE: "int8",
    BasicType.SHORT: "int16",
    BasicType.INT: "int32",
    BasicType.LONG: "int64",
    BasicType.FLOAT: "float32",
    BasicType.DOUBLE: "float64",
}
_LOCAL_TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


class ParquetStream:
    """Gathers rows in a file and makes a Parquet file of them when they are complete.

    A Parquet file can't be gone on from in its middle, as a part file must be that is in progress at a checkpoint.
    """

    def __init__(self, file: IO[bytes], row_type: RowTypeInfo) -> None:
        self._file = file
        self._row_type = row_type

    def write(self, values: list[Any]) -> None:
        """Append rows."""
        pickle.dump([_plain(value, self._row_type) for value in values], self._file, pickle.HIGHEST_PROTOCOL)

    def finish(self) -> str:
        """Write the Parquet file beside the gathered rows, so that they are there if it is to be written again."""
        try:
            import pyarrow
            import pyarrow.parquet  # late: a third of a second that only jobs with Parquet files pay
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Parquet files need the package pyarrow: pip install 'firesteel[parquet]'", name=error.name
            ) from None

        self._file.flush()
        names, types = self._row_type.get_field_names(), self._row_type.get_field_types()
        schema = pyarrow.schema(list(zip(names, map(arrow_type, types), strict=True)))
        path = f"{self._file.name}.parquet"
        with open(path, "wb") as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
            for rows in _row_groups(self._file.name):
                writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        return path


def _row_groups(path: str) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    with open(path, "rb") as file:
        while True:
            try:
                rows += pickle.load(file)
            except EOFError:
                break
            if len(rows) >= ROW_GROUP_ROWS:
                yield rows
                rows = []
    if rows:
        yield rows


def arrow_type(type_info: TypeInformation) -> Any:
    """The Arrow type of a declared type.

    Raises:
        NotImplementedError: there is none.
    """
    import pyarrow

    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _SCALARS:
        return getattr(pyarrow, _SCALARS[type_info.basic_type])()
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.BIG_DEC:
        return pyarrow.decimal128(38, 18)
    if isinstance(type_info, LocalTimeTypeInfo):
        type_info = _LOCAL_TIMES[type_info.time_type.value]()
    if isinstance(type_info, DateTypeInfo):
        return pyarrow.date32()
    if isinstance(type_info, TimeTypeInfo):
        return pyarrow.time32("ms")
    if isinstance(type_info, TimestampTypeInfo):
        return pyarrow.timestamp("ms")
    if isinstance(type_info, RowTypeInfo):
        fields = zip(type_info.get_field_names(), map(arrow_type, type_info.get_field_types()), strict=True)
        return pyarrow.struct(list(fields))
    if isinstance(type_info, MapTypeInfo):
        return pyarrow.map_(arrow_type(type_info.key_type), arrow_type(type_info.value_type))
    if isinstance(type_info, _ElementTypeInfo):
        if _is_bytes(type_info):
            return pyarrow.binary()
        return pyarrow.list_(arrow_type(type_info.element_type))
    raise NotImplementedError(f"Parquet files: no column holds {type_info!r}")


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO()


def _plain(value: Any, type_info: TypeInformation) -> Any:
    """Rows as dicts, maps as pairs, everything else as it is."""
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        fields = zip(type_info.get_field_names(), value, type_info.get_field_types(), strict=True)
        return {name: _plain(item, field) for name, item, field in fields}
    if isinstance(value, Row):
        return list(value)
    if isinstance(type_info, MapTypeInfo):
        return list(value.items())
    return value
