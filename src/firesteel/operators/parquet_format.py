"""Rows as Parquet files, by pyarrow."""

from __future__ import annotations

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
    """Gathers rows into row groups and writes them to a file."""

    def __init__(self, file: IO[bytes], row_type: RowTypeInfo) -> None:
        import pyarrow
        import pyarrow.parquet  # late: a third of a second that only jobs with Parquet files pay

        self._names = row_type.get_field_names()
        self._row_type = row_type
        self._schema = pyarrow.schema(list(zip(self._names, map(arrow_type, row_type.get_field_types()), strict=True)))
        self._make_table = pyarrow.Table.from_pylist
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, values: list[Any]) -> None:
        """Append rows."""
        self._rows += [_plain(value, self._row_type) for value in values]
        if len(self._rows) >= ROW_GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        self._writer.write_table(self._make_table(self._rows, schema=self._schema))
        self._rows = []

    def finish(self) -> None:
        """Write the last row group and the footer."""
        if self._rows:
            self._write_group()
        self._writer.close()


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
