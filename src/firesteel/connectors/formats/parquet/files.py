"""Rows as Parquet and ORC files, read and written with pyarrow."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, ClassVar

from firesteel.columns.column_types import RowType
from firesteel.columns.pylist import pylist
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.common.values.coercion import coercer
from firesteel.connectors.files.gathered_file import GatheredStream
from firesteel.connectors.formats.parquet.orc import OrcSettings
from firesteel.connectors.formats.parquet.schemas import ParquetColumnarRowInputFormat
from firesteel.connectors.formats.row_fields import all_fields

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


class ColumnsStream(GatheredStream):
    """A part stream that collects rows in a file and converts them to a columnar file when it is complete.

    Attributes:
        write_table: Name of the method of pyarrow's writer that writes a table.
    """

    write_table: ClassVar[str] = "write_table"

    def __init__(self, file: IO[bytes], suffix: str, row_type: RowTypeInfo | RowType) -> None:
        super().__init__(file, suffix)
        import_pyarrow()
        if isinstance(row_type, RowTypeInfo):
            self._encode: Callable[[object], object] = partial(_plain, type_info=row_type)
            self._columns = list(
                zip(row_type.get_field_names(), map(arrow_type, row_type.get_field_types()), strict=True)
            )
        else:
            from firesteel.columns import values  # late: imports pyarrow

            self._encode = values.row_encoder(row_type)
            self._columns = [(field.name, values.arrow_type(field.data_type)) for field in row_type.fields]

    def open_writer(self, file: IO[bytes], schema: object) -> Any:
        """Return the pyarrow writer of the format."""
        raise NotImplementedError

    def plain(self, value: object) -> Any:
        """Return a row as a dict of plain values."""
        return self._encode(value)

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write one table per group."""
        pyarrow = import_pyarrow()
        schema = pyarrow.schema(self._columns)
        with self.open_writer(file, schema) as writer:
            write = getattr(writer, self.write_table)
            for rows in groups:
                write(pyarrow.Table.from_pylist(rows, schema=schema))


class ParquetStream(ColumnsStream):
    """A part stream for Parquet files, with one row group per table."""

    def __init__(self, file: IO[bytes], row_type: RowTypeInfo | RowType) -> None:
        super().__init__(file, "parquet", row_type)

    def open_writer(self, file: IO[bytes], schema: object) -> Any:
        """Return a Parquet writer."""
        return import_pyarrow().parquet.ParquetWriter(file, schema)


class OrcStream(ColumnsStream):
    """A part stream for ORC files."""

    write_table = "write"

    def __init__(self, file: IO[bytes], settings: OrcSettings) -> None:
        super().__init__(file, "orc", settings.row_type)
        self._settings = settings

    def open_writer(self, file: IO[bytes], schema: object) -> Any:
        """Return an ORC writer."""
        import_pyarrow()
        import pyarrow.orc

        settings = self._settings
        return pyarrow.orc.ORCWriter(file, compression=settings.compression, stripe_size=settings.stripe_bytes)


def import_pyarrow() -> Any:
    """Import and return pyarrow. The import takes a third of a second, so only jobs that need it import it.

    Raises:
        ModuleNotFoundError: it is not installed; the text says how to install it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Parquet and ORC files need the package pyarrow: pip install 'firesteel[parquet]'", name=error.name
        ) from None
    return pyarrow


def read_parquet(file: str | IO[bytes], parquet_format: ParquetColumnarRowInputFormat) -> Iterator[list[Row]]:
    """Yield the rows of a file (a path or an open file) in batches; columns missing from the file are null."""
    coerce = coercer(parquet_format.row_type)
    assert coerce is not None
    with import_pyarrow().parquet.ParquetFile(file) as parquet:
        columns = _columns_of(parquet.schema_arrow.names, parquet_format)
        for batch in parquet.iter_batches(parquet_format.batch_size, columns=[name for name in columns if name]):
            values = {name: pylist(batch.column(name)) for name in columns if name}
            lists = [values[name] if name else [None] * batch.num_rows for name in columns]
            yield [coerce([_timestamp(value, parquet_format) for value in row]) for row in zip(*lists, strict=True)]


def _columns_of(found: list[str], parquet_format: ParquetColumnarRowInputFormat) -> list[str | None]:
    """Return the file's column name for each field of the row type, None if the file lacks the column."""
    fold = str if parquet_format.is_case_sensitive else str.lower
    columns = {fold(name): name for name in found}
    return [columns.get(fold(name)) for name in parquet_format.row_type.get_field_names()]


def _timestamp(value: object, parquet_format: ParquetColumnarRowInputFormat) -> object:
    """Return a timestamp with time zone as local time in UTC or in the system's time zone."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return value
    zone = datetime.UTC if parquet_format.is_utc_timestamp else None
    return value.astimezone(zone).replace(tzinfo=None)


def read_parquet_records(file: str | IO[bytes], names: list[str], chunk_records: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of a file (a path or an open file) as dicts, in batches."""
    with import_pyarrow().parquet.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(chunk_records, columns=names):
            yield batch.to_pylist(maps_as_pydicts="strict")


def arrow_type(type_info: TypeInformation[Any]) -> Any:
    """Return the Arrow type that corresponds to a declared type.

    Raises:
        NotImplementedError: no Arrow type corresponds to it.
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
    if isinstance(type_info, ElementTypeInfo):
        if _is_bytes(type_info):
            return pyarrow.binary()
        return pyarrow.list_(arrow_type(type_info.element_type))
    raise NotImplementedError(f"Parquet and ORC files: no column holds {type_info!r}")


def _is_bytes(type_info: TypeInformation[Any]) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO()


def _plain(value: Any, type_info: TypeInformation[Any]) -> Any:
    """Return rows as dicts and maps as lists of pairs; return other values unchanged."""
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
        value = [value.get(name) for name in names] if isinstance(value, dict) else all_fields(value, names)
        fields = zip(names, value, type_info.get_field_types(), strict=True)
        return {name: _plain(item, field) for name, item, field in fields}
    if isinstance(value, Row):
        return list(value)
    if isinstance(type_info, MapTypeInfo):
        return list(value.items())
    return value
