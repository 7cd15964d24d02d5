"""JDBC connectors (module as `pyflink.datastream.connectors.jdbc`), with Python drivers instead of JDBC drivers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.checks import require
from firesteel.common.options.sensitive_values import masked_text
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.jdbc.address import database_of
from firesteel.connectors.jdbc.database import count_parameters, row_converter
from firesteel.connectors.jdbc.parameters import GenericParameterValuesProvider, NumericBetweenParametersProvider
from firesteel.connectors.jdbc.source import JdbcSource, JdbcSourceBuilder
from firesteel.connectors.jdbc.writer import JdbcCommitter, JdbcWriter
from firesteel.functions.connector_base import Committer, Sink, SinkWriter, WriterInitContext
from firesteel.functions.user_functions import SinkFunction

__all__ = [
    "GenericParameterValuesProvider",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JdbcSource",
    "JdbcSourceBuilder",
    "NumericBetweenParametersProvider",
]


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Address and credentials of a database.

    Attributes:
        db_url: Address of the database, `jdbc:sqlite:<path>` for instance.
        driver_name: Ignored: the address determines the driver.
        user_name: User name, or None.
        password: Password, or None.

    Example:
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://localhost:5432/shop")
        ...     .with_user_name("writer")
        ...     .with_password("secret")
        ...     .build()
        ... )
        >>> options
        JdbcConnectionOptions('jdbc:postgresql://localhost:5432/shop', user_name='writer')
    """

    db_url: str
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = None

    def get_db_url(self) -> str:
        """Return the address of the database."""
        return self.db_url

    def get_driver_name(self) -> str | None:
        """Return the name of the JDBC driver, which is ignored: the address determines the driver."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Return the user name."""
        return self.user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self.password

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({masked_text(self.db_url)!r}, user_name={self.user_name!r})"

    class JdbcConnectionOptionsBuilder:
        """A builder of `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._options = JdbcConnectionOptions("")

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the address of the database, which also selects the Python driver.

            Args:
                url: `jdbc:sqlite:<path>`, `jdbc:postgresql://<host>:<port>/<name>`, `jdbc:mysql://...` or
                    `jdbc:mariadb://...`.
            """
            self._options = replace(self._options, db_url=url)
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Store the name of the JDBC driver, which has no effect: the address determines the driver.

            Args:
                driver_name: Class name of a JDBC driver; not checked.
            """
            self._options = replace(self._options, driver_name=driver_name)
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user name.

            Args:
                user_name: Name of the database's user; SQLite ignores it. By default the driver chooses.
            """
            self._options = replace(self._options, user_name=user_name)
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password.

            Args:
                password: Not part of checkpoints; SQLite ignores it.
            """
            self._options = replace(self._options, password=password)
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options.

            Raises:
                ValueError: the address is missing.
            """
            if not self._options.db_url:
                raise ValueError("JdbcConnectionOptions need an address: with_url('jdbc:sqlite:/data/results.db')")
            return self._options


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """Settings of writes; all rows of a checkpoint are written in one transaction in any case.

    Attributes:
        batch_interval_ms: Ignored: rows are written when a checkpoint completes.
        batch_size: Number of rows passed to the driver at once.
        max_retries: Number of retries of a transaction after a transient error.

    Example:
        >>> options = JdbcExecutionOptions.builder().with_batch_size(1000).with_max_retries(5).build()
        >>> options.get_batch_size(), options.get_max_retries()
        (1000, 5)
    """

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Return the batch interval, which has no effect: rows are written when a checkpoint completes."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the number of rows passed to the driver at once."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """Return the number of retries of a transaction after a transient error, such as a lost connection."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the defaults: batches of 5000 rows and 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return a builder with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """A builder of `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Store the setting, which has no effect: rows are written when a checkpoint completes.

            Args:
                interval_ms: Milliseconds, 0 or more.

            Raises:
                ValueError: `interval_ms` is negative.
            """
            self._options = replace(self._options, batch_interval_ms=_checked("interval_ms", interval_ms, 0))
            return self

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set the number of rows passed to the driver at once.

            Args:
                size: At least 1 (default 5000); all batches of a checkpoint are in one transaction.

            Raises:
                ValueError: `size` is less than 1.
            """
            self._options = replace(self._options, batch_size=_checked("size", size, 1))
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set the number of retries of a transaction after a transient error.

            Args:
                max_retries: 0 or more (default 3); 0 fails the job at the first error.

            Raises:
                ValueError: `max_retries` is negative.
            """
            self._options = replace(self._options, max_retries=_checked("max_retries", max_retries, 0))
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return self._options


def _checked(name: str, value: int, least: int) -> int:
    if value < least:
        raise ValueError(f"JdbcExecutionOptions: {name} must be {least} or greater, found {value}")
    return value


class JdbcSink(SinkFunction[object], Sink[Any]):
    """Executes a statement for each Row, exactly-once; for `add_sink` and `sink_to`.

    The JobManager writes the rows of all subtasks in one transaction per checkpoint (in BATCH mode: for the whole job).
    The same transaction records the commit in the table `firesteel_commits` of the same database.

    Differences to Flink's `connector.jdbc.JdbcSink`: it is exactly-once, where Flink's `sink()` is at-least-once. It
    uses the Python drivers `sqlite3`, `psycopg` (`pip install 'firesteel[postgresql]'`) and `PyMySQL`
    (`firesteel[mysql]`) instead of JDBC drivers. `sink_to` accepts it, too. SQLite stores times and decimals as text.

    Checkpoints contain the rows to commit, but neither address nor password of the database: a restored job uses those
    of its own sink.

    Use `JdbcSink.sink`, which also checks the number of parameters.

    Args:
        sql: The statement; its `?` are the fields of a row in order.
        row_type: Types of the fields, which determine how values are converted.
        connection_options: Address and credentials of the database.
        execution_options: Number of rows passed to the driver at once, and of retries.

    Raises:
        ValueError: there is no driver for the address, or the address is incomplete.
        NotImplementedError: the database does not support the type of a field.

    Example:
        >>> options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:/data/out.db").build()
        >>> row_type = Types.ROW([Types.STRING(), Types.INT()])
        >>> totals = env.from_collection([Row("to", 2), Row("be", 2)], row_type)
        >>> _ = totals.add_sink(JdbcSink.sink("INSERT INTO totals (word, total) VALUES (?, ?)", row_type, options))
    """

    def __init__(
        self,
        sql: str,
        row_type: RowTypeInfo,
        connection_options: JdbcConnectionOptions,
        execution_options: JdbcExecutionOptions,
    ) -> None:
        super().__init__()
        self.sql = sql
        self.row_type = row_type
        self.connection_options = connection_options
        self.execution_options = execution_options
        options = connection_options
        self._database = database_of(options.db_url, options.user_name, options.password)
        # For its errors alone: a type that the database lacks is found where the sink is made, not in a slot.
        row_converter(self._database, row_type)

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that executes `sql` for each row.

        Args:
            sql: The statement; its `?` are the fields of a row in order.
            type_info: Type of the rows.
            jdbc_connection_options: Address and credentials of the database.
            jdbc_execution_options: Settings of writes; None uses the defaults.

        Raises:
            TypeError: `type_info` is not a `Types.ROW`.
            ValueError: the numbers of `?` and of fields differ, or there is no driver for the address.
            NotImplementedError: the database does not support the type of a field.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise TypeError(f"JdbcSink.sink: type_info must be a Types.ROW or Types.ROW_NAMED, found {type_info!r}")
        expected, found = count_parameters(sql), len(type_info.get_field_types())
        if expected != found:
            raise ValueError(f"JdbcSink.sink: {sql!r} has {expected} parameters, type_info has {found} fields")
        execution_options = jdbc_execution_options or JdbcExecutionOptions()
        require(jdbc_connection_options, JdbcConnectionOptions, "JdbcSink.sink()")
        require(execution_options, JdbcExecutionOptions, "JdbcSink.sink()")
        return JdbcSink(sql, type_info, jdbc_connection_options, execution_options)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """Return the writer of a subtask, which buffers its rows."""
        return JdbcWriter(self._database, self.row_type, context)

    def create_committer(self) -> Committer:
        """Return the committer, which writes the rows of all subtasks."""
        options = self.execution_options
        return JdbcCommitter(self._database, self.sql, options.batch_size, options.max_retries)
