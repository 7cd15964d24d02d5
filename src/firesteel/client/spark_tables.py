"""Tables that Spark knows: the Spark session of this process that looks them up and reads them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from firesteel.common.files.file_systems import scheme_of
from firesteel.common.options.execution_options import EXECUTION_TARGET
from firesteel.entrypoint.spark_options import MASTER, spark_master
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.errors import FiresteelError
from firesteel.spark.executors import ON_DEMAND

__all__ = [
    "SparkTableError",
    "SparkTableMetadata",
    "SparkTables",
    "checked",
    "partition_texts",
    "quoted_name",
    "spark_path",
    "write_staged",
]

ROWS_PER_FILE = 1_000_000
"""Maximum number of rows per staged file. A file is a split, so a large Spark partition must become several files."""

_ROW_GROUP_BYTES = 16 << 20
"""Spark buffers a row group per task."""

_MOST_PARTITIONS = 1000
"""Maximum number of partitions in a filter, as Spark analyzes the filter as one expression."""

_SESSION_OPTIONS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
"""Options with which staged files have the same dates and timestamps for Arrow as for Spark."""

T = TypeVar("T")

_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")


class SparkTableError(FiresteelError):
    """Spark rejected a request; the argument is the reason."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class SparkTableMetadata:
    """The metadata of a table.

    Attributes:
        schema: Spark's `StructType`.
        partition_keys: The partition columns.
        comment: The comment, or None.
    """

    schema: Any
    partition_keys: tuple[str, ...]
    comment: str | None


class SparkTables:
    """The tables of Spark's catalogs, in a session of their own that shares the SparkContext of this process.

    The context is that of the program, otherwise that of the jobs in this process. If jobs run on a cluster of another
    process and the program has none, PySpark starts one.

    Args:
        options: Options that begin with `spark.`.
        configuration: The configuration of the environment.
    """

    def __init__(self, options: Mapping[str, str], configuration: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._configuration = dict(configuration)

    def session(self) -> SparkSession:
        """Return the session; it is replaced when its SparkContext is gone.

        Raises:
            SparkTableError: an option contradicts the running Spark, or Spark cannot read tables.
        """
        key = frozenset(self._options.items())
        with _lock:
            found = _sessions.get(key)
            # A program may stop its SparkContext and begin another; a session of the former one fails at each use.
            if found is None or found._sc is not SparkContext._active_spark_context:
                found = _sessions[key] = _make_session(self._options, self._configuration)
            return found

    # --- metadata ----------------------------------------------------------------------------------------------------

    def current_catalog(self) -> str:
        """Return the name of the current catalog of Spark."""
        return self.session().catalog.currentCatalog()

    def databases(self, catalog: str) -> list[str]:
        """Return the names of the databases of a catalog."""
        rows = checked(lambda: self.session().sql(f"SHOW DATABASES IN {quoted_name(catalog)}").collect())
        return sorted(str(row[0]) for row in rows)

    def database_comment(self, catalog: str, database: str) -> str | None:
        """Return the comment of a database."""
        name = _database_name(catalog, database)
        return checked(lambda: self.session().catalog.getDatabase(name)).description or None

    def database_exists(self, catalog: str, database: str) -> bool:
        """Return whether a database exists."""
        name = _database_name(catalog, database)
        return bool(checked(lambda: self.session().catalog.databaseExists(name)))

    def tables(self, catalog: str, database: str) -> list[str]:
        """Return the names of the tables and views of a database, without temporary views."""
        sql = f"SHOW TABLES IN {_database_name(catalog, database)}"
        rows = checked(lambda: self.session().sql(sql).collect())
        return sorted(row["tableName"] for row in rows if not row["isTemporary"])

    def metadata(self, name: str) -> SparkTableMetadata | None:
        """Return the metadata of a table or view, or None if it does not exist."""
        session = self.session()
        try:
            schema = session.table(name).schema
            keys = tuple(column.name for column in session.catalog.listColumns(name) if column.isPartition)
            comment = session.catalog.getTable(name).description
        except AnalysisException as error:
            if error.getCondition() in _NOT_FOUND:
                return None
            raise SparkTableError(_reason(error)) from error
        return SparkTableMetadata(schema, keys, comment or None)

    # --- reading -----------------------------------------------------------------------------------------------------

    def check_staging(self, path: str | None) -> None:
        """Check that Spark's executors can write where the job reads.

        Args:
            path: The configured staging directory, or None for one on the disk of this host.

        Raises:
            SparkTableError: executors on other hosts would write to their own disks.
        """
        master = str(self.session().sparkContext.master)
        if path is None and not master.startswith("local"):
            raise SparkTableError(
                f"The executors of Spark (master '{master}') can't write to the local disk of this process; set "
                "'staging.path' to a directory that executors and slots share, such as s3://bucket/staging"
            )

    def write(
        self, name: str, columns: Sequence[str], path: str, wanted: Callable[[str], bool] | None, keys: Sequence[str]
    ) -> None:
        """Write columns of a table to Parquet files.

        Args:
            name: The table.
            columns: The columns.
            path: The directory, which is replaced.
            wanted: Returns whether to read a partition, given as `key=value/key=value`; None reads all.
            keys: The partition columns.

        Raises:
            SparkTableError: Spark failed.
        """
        session = self.session()
        # Another session may have written to the table since this one listed its files.
        checked(lambda: session.catalog.refreshTable(name))
        frame = checked(lambda: session.table(name))
        condition = None if wanted is None else self._partition_filter(name, wanted, keys)
        if condition is not None:
            frame = frame.where(condition)
        write_staged(session, frame.select(*map(_quoted, columns)), path)

    def _partition_filter(self, name: str, wanted: Callable[[str], bool], keys: Sequence[str]) -> str | None:
        """Return a condition for the wanted partitions; None if Spark lists no partitions, or too many are wanted."""
        try:
            found = [row[0] for row in self.session().sql(f"SHOW PARTITIONS {name}").collect()]
        except AnalysisException:
            return None
        kept = [partition for partition in found if wanted(partition)]
        if len(kept) == len(found) or len(kept) > _MOST_PARTITIONS:
            return None
        types = {field.name: field.dataType.simpleString() for field in self.session().table(name).schema.fields}
        return " OR ".join(_is_partition(partition, keys, types) for partition in kept) or "false"


def write_staged(session: SparkSession, frame: DataFrame, path: str) -> None:
    """Write a DataFrame to Parquet files that a job reads.

    Args:
        session: The session of the DataFrame.
        frame: The DataFrame.
        path: The directory, which is replaced.

    Raises:
        SparkTableError: Spark failed.
    """
    context, cores = session.sparkContext, os.cpu_count() or 1
    if str(context.master).startswith("local") and context.defaultParallelism > cores:
        # firesteel's local Spark has many threads per core, and each task of Parquet needs memory for a row group.
        frame = frame.coalesce(cores)
    writer = (
        frame.write.mode("overwrite")
        .option("compression", "snappy")
        .option("maxRecordsPerFile", ROWS_PER_FILE)
        .option("parquet.block.size", _ROW_GROUP_BYTES)
    )
    checked(lambda: writer.parquet(spark_path(path)))


_lock = threading.Lock()
_sessions: dict[frozenset[tuple[str, str]], SparkSession] = {}
"""The sessions of this process by their options."""


def _make_session(options: Mapping[str, str], configuration: Mapping[str, str]) -> SparkSession:
    """Return a new session with the options of the program's session and those given."""
    base = _session_of_process(options, configuration)
    made = base.newSession()
    for key, value in base.conf.getAll.items():
        if made.conf.get(key, None) != value:
            _try_set(made, key, value)
    for key, value in options.items():
        found = made.conf.get(key, None)
        if not _is_in_effect(key, value, found) and not _try_set(made, key, value):
            raise SparkTableError(
                f"Option '{key}' = '{value}' can't be changed in the Spark of this process, which has "
                f"{'no value' if found is None else repr(found)}; set it where this Spark is started: in the "
                f"program's SparkSession, or as an option of firesteel (-D {key}=...)"
            )
    for key, value in _SESSION_OPTIONS.items():
        made.conf.set(key, value)
    return made


def _session_of_process(options: Mapping[str, str], configuration: Mapping[str, str]) -> SparkSession:
    """Return the program's session, else a session of the Spark that runs the jobs of this process."""
    if SparkContext._active_spark_context is not None:
        return SparkSession.getActiveSession() or SparkSession(SparkContext._active_spark_context)
    if configuration.get(EXECUTION_TARGET.key) == "remote":
        own = {key: value for key, value in configuration.items() if key.startswith("spark.")}
        return SparkSession.builder.config(map={**own, **options}).getOrCreate()
    context = shared_gateway({**configuration, **options}, is_strict=False).context()
    if all(context.getConf().get(key) == value for key, value in ON_DEMAND.items()):
        raise SparkTableError(
            f"The Spark of this process (master '{context.master}') starts executors for the slots of jobs only, and "
            "none to read tables; create a SparkSession in the program first"
        )
    return SparkSession(context)


def _is_in_effect(key: str, value: str, found: str | None) -> bool:
    """Return whether a running Spark has the value of an option, maybe in the form in which it was started."""
    return found in (value, f"file:{value}") or (key == MASTER and found == spark_master({MASTER: value}))


def _try_set(session: SparkSession, key: str, value: str) -> bool:
    """Set an option of Spark SQL and return True, or False if it cannot be changed while Spark runs."""
    try:
        session.conf.set(key, value)
    except AnalysisException:
        return False
    # Spark takes any other key without a word, and nothing in the session reads it.
    return key.startswith(("spark.sql.", "spark.hadoop."))


def checked(request: Callable[[], T]) -> T:
    """Return the result of a request to Spark.

    Raises:
        SparkTableError: Spark failed.
    """
    try:
        return request()
    except PySparkException as error:
        raise SparkTableError(_reason(error)) from error
    except Py4JJavaError as error:  # of the JVM, without a class of PySpark
        raise SparkTableError(f"Spark: {error.java_exception.getMessage()}") from error


def _reason(error: PySparkException) -> str:
    """Return Spark's message without the stack trace of the JVM."""
    return f"Spark: {str(error).partition('JVM stacktrace:')[0].strip()}"


def quoted_name(*parts: str) -> str:
    """Return a name of Spark SQL with its parts in backticks.

    Example:
        >>> quoted_name("spark_catalog", "default", "my table")
        '`spark_catalog`.`default`.`my table`'
    """
    return ".".join(map(_quoted, parts))


def _database_name(catalog: str, database: str) -> str:
    return quoted_name(catalog, *database.split("."))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_partition(partition: str, keys: Sequence[str], types: Mapping[str, str]) -> str:
    values = partition_texts(partition)
    # `<=>` and not `=`, as a partition may be that of NULL.
    terms = (f"{_quoted(key)} <=> CAST({_literal(values[key])} AS {types[key]})" for key in keys)
    return f"({' AND '.join(terms)})"


def partition_texts(partition: str) -> dict[str, str | None]:
    """Return the values of a partition `key=value/key=value` as Hive and Spark write it, None for NULL."""
    pairs = (part.partition("=") for part in partition.split("/"))
    return {unquote(key): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for key, _, value in pairs}


def _literal(text: str | None) -> str:
    # By its bytes, as it depends on options of the session what a backslash means between quotes.
    return "NULL" if text is None else f"CAST(X'{text.encode().hex()}' AS STRING)"


def spark_path(path: str) -> str:
    """Return a path for Hadoop's file systems, whose default one may be remote."""
    scheme = scheme_of(path)
    if scheme is None:
        return path if path.startswith("file:") else f"file://{path}"
    return f"s3a{path[2:]}" if scheme == "s3" else path
