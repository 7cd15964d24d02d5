"""The ORC format (module as `pyflink.datastream.formats.orc`), implemented with pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.column_types import DataType, RowType, TimeType
from firesteel.common.configuration import Configuration
from firesteel.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from firesteel.common.typeinfo import LocalTimeTypeInfo, RowTypeInfo, TimeTypeInfo, TypeInformation

__all__ = ["OrcBulkWriters"]

_COMPRESSION = "orc.compress"
_COMPRESSIONS = {"NONE": "uncompressed", "ZLIB": "zlib", "SNAPPY": "snappy", "LZ4": "lz4", "ZSTD": "zstd"}
_STRIPE_SIZE = "orc.stripe.size"
_DEFAULTS = {_COMPRESSION: "ZLIB", _STRIPE_SIZE: str(64 << 20)}


@dataclass(frozen=True)
class OrcSettings:
    """Settings of an ORC writer.

    Attributes:
        row_type: The columns.
        compression: pyarrow's name of the compression.
        stripe_bytes: Size of a stripe in bytes.
    """

    row_type: RowTypeInfo | RowType
    compression: str
    stripe_bytes: int


class OrcBulkWriters:
    """Factory of bulk writers of ORC files."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | RowType,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Return a writer factory for files with one column per field, for `FileSink.for_bulk_format`.

        It needs the package pyarrow (`pip install 'firesteel[parquet]'`).

        Differences to PyFlink: CHAR is written as text of variable length, the only supported properties are
        `orc.compress` and `orc.stripe.size`, and `hadoop_config` has no effect.

        Args:
            row_type: Names and types of the fields: a `DataTypes.ROW`, or a `Types.ROW_NAMED` as PyFlink does not take.
            writer_properties: Properties of the writer.
            hadoop_config: Has no effect.

        Raises:
            TypeError: `row_type` is not a row type.
            ValueError: a property is unknown or has an invalid value.
            NotImplementedError: a field is a time of day, which ORC does not support.

        Example:
            >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
            >>> sink = FileSink.for_bulk_format("/data/out", OrcBulkWriters.for_row_type(row_type)).build()
        """
        for name, field in fields_of(row_type, "OrcBulkWriters.for_row_type"):
            if _is_time_of_day(field):
                raise NotImplementedError(f"ORC files: field {name!r} is a time of day, which ORC does not support")
        given = {} if writer_properties is None else writer_properties.to_dict()
        unknown = given.keys() - _DEFAULTS.keys()
        if unknown:
            raise ValueError(f"OrcBulkWriters: properties must be {', '.join(_DEFAULTS)}, found {min(unknown)}")
        properties = {**_DEFAULTS, **given}
        compression = _COMPRESSIONS.get(properties[_COMPRESSION].upper())
        if compression is None:
            allowed = ", ".join(_COMPRESSIONS)
            raise ValueError(f"OrcBulkWriters: {_COMPRESSION} must be {allowed}, found {properties[_COMPRESSION]!r}")
        settings = OrcSettings(row_type, compression, int(properties[_STRIPE_SIZE]))
        return RowDataBulkWriterFactory("orc", row_type, settings)


def fields_of(row_type: object, method: str) -> list[tuple[str, TypeInformation[Any] | DataType]]:
    """Return names and types of the columns of a file.

    Raises:
        TypeError: it is neither a row type of tables nor one of streams.
    """
    if isinstance(row_type, RowTypeInfo):
        return list(zip(row_type.get_field_names(), row_type.get_field_types(), strict=True))
    if isinstance(row_type, RowType):
        return [(field.name, field.data_type) for field in row_type.fields]
    raise TypeError(f"{method} takes a DataTypes.ROW or a Types.ROW_NAMED, found {row_type!r}")


def _is_time_of_day(field: TypeInformation[Any] | DataType) -> bool:
    if isinstance(field, LocalTimeTypeInfo):
        return field.time_type is LocalTimeTypeInfo.TimeType.LOCAL_TIME
    return isinstance(field, TimeTypeInfo | TimeType)
