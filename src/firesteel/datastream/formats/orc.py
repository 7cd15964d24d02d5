"""Rows as ORC files (module as `pyflink.datastream.formats.orc`), by pyarrow and not by Java's writer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """How ORC files are written.

    Attributes:
        row_type: Their columns.
        compression: pyarrow's name.
        stripe_bytes: Size of a stripe (bytes).
    """

    row_type: RowTypeInfo
    compression: str
    stripe_bytes: int


class OrcBulkWriters:
    """Writes ORC files from Rows."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Write files with a column per field, for `FileSink.for_bulk_format`.

        Needs the package pyarrow (`pip install 'firesteel[parquet]'`).
        Differs from PyFlink in that the type is a `Types.ROW_NAMED`, as there is no Table API, that of the properties
        only `orc.compress` and `orc.stripe.size` are taken, and that `hadoop_config` has no effect.

        Raises:
            TypeError: it is no row type.
            ValueError: a property is not known, or has a value that is not allowed.
            NotImplementedError: a field is a time of day, which ORC does not have.

        Example:
            >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
            >>> sink = FileSink.for_bulk_format("/data/out", OrcBulkWriters.for_row_type(row_type)).build()
        """
        if not isinstance(row_type, RowTypeInfo):
            raise TypeError(f"OrcBulkWriters.for_row_type takes a Types.ROW_NAMED, found {row_type!r}")
        for name, field in zip(row_type.get_field_names(), row_type.get_field_types(), strict=True):
            if _is_time_of_day(field):
                raise NotImplementedError(f"ORC files: no column holds the times of day of field {name!r}")
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


def _is_time_of_day(field: TypeInformation[Any]) -> bool:
    if isinstance(field, LocalTimeTypeInfo):
        return field.time_type is LocalTimeTypeInfo.TimeType.LOCAL_TIME
    return isinstance(field, TimeTypeInfo)
