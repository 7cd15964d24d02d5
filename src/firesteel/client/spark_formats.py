"""Reads and writes by formats of Spark, such as ORC, JDBC or that of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from firesteel.client.spark_tables import SparkTables, checked, quoted_name, spark_path, write_staged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_WITH_DECLARED_COLUMNS = ("csv", "json", "xml")
"""Formats whose files do not say the types of columns."""


class Target(Protocol):
    """What Spark writes, see `firesteel.connectors.spark.sink.SparkTarget`."""

    @property
    def format(self) -> str:
        """Name of the format."""

    @property
    def path(self) -> str | None:
        """The path, None if the format has none."""

    @property
    def options(self) -> Mapping[str, str]:
        """Options of the format."""

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns whose values are directories."""

    @property
    def is_replaced(self) -> bool:
        """Whether the rows replace those that are there."""

    @property
    def session(self) -> Mapping[str, str]:
        """Options of Spark."""


class SparkReading:
    """A DataFrame by a format of Spark.

    Args:
        tables: Gives the session.
        name: Name of the format.
        path: The path, None if the format has none.
        options: Options of the format.
        columns: The columns as SQL, for formats whose files do not say the types.
    """

    def __init__(
        self, tables: SparkTables, name: str, path: str | None, options: Mapping[str, str], columns: str
    ) -> None:
        self._tables = tables
        self._name = name
        self._path = path
        self._options = dict(options)
        self._columns = columns

    def schema(self) -> StructType:
        """Return the columns.

        Raises:
            SparkTableError: Spark has no such format, or cannot read it.
        """
        return checked(lambda: self._frame().schema)

    def write(self, columns: Sequence[str], path: str) -> None:
        """Write columns to Parquet files, which replace a directory.

        Raises:
            SparkTableError: Spark failed.
        """
        frame = checked(lambda: self._frame().select(*map(quoted_name, columns)))
        write_staged(self._tables.session(), frame, path)

    def _frame(self) -> DataFrame:
        reader = self._tables.session().read.format(self._name).options(**self._options)
        if self._name.lower() in _WITH_DECLARED_COLUMNS:
            reader = reader.schema(self._columns)
        return reader.load() if self._path is None else reader.load(self._path)


def write_target(target: Target, paths: Sequence[str], configuration: Mapping[str, str]) -> None:
    """Write the rows of Parquet files to a target.

    Raises:
        SparkTableError: Spark failed.
    """
    session = SparkTables(target.session, configuration).session()
    frame = checked(lambda: session.read.parquet(*map(spark_path, paths)))
    writer = frame.write.format(target.format).mode("overwrite" if target.is_replaced else "append")
    writer = writer.options(**target.options)
    if target.partition_by:
        writer = writer.partitionBy(*target.partition_by)
    checked(lambda: writer.save(target.path))
