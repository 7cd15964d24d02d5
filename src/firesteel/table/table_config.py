"""Options of a table environment (module as `pyflink.table.table_config`)."""

from __future__ import annotations

import datetime

from firesteel.columns.value_text import time_zone
from firesteel.common.configuration import Configuration
from firesteel.common.options.option_check import check_option, check_options
from firesteel.common.options.python_options import PYTHON_EXECUTABLE
from firesteel.common.options.stored_options import TABLE_CODE_LENGTH
from firesteel.common.options.table_options import TABLE_LOCAL_TIME_ZONE, TABLE_SQL_DIALECT, TABLE_STATE_TTL
from firesteel.common.system_time_zone import system_time_zone
from firesteel.common.table_errors import ValidationException
from firesteel.table.sql_dialect import SqlDialect, dialect_of

__all__ = ["TableConfig"]


class TableConfig:
    """The options of a table environment; unset options fall back to the execution environment.

    Args:
        configuration: The configuration to read and change; None creates an empty one of its own.

    Example:
        >>> from firesteel.table import TableConfig
        >>> config = TableConfig.get_default()
        >>> config.set("table.exec.state.ttl", "1 h").get("table.exec.state.ttl", "")
        '1 h'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        """Return options that all have their defaults."""
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """Return the value of an option as text.

        Args:
            key: The key of an option, such as `table.exec.state.ttl`.
            default_value: Returned if the option is not set.
        """
        return self._configuration.get_string(key, default_value)

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option and return this object.

        Args:
            key: The key of an option, such as `table.exec.state.ttl`.
            value: The value as text.

        Raises:
            ValueError: The option is misspelt, refused, or does not have this value.
        """
        check_option(key, str(value))
        self._configuration.set_string(key, value)
        return self

    def get_configuration(self) -> Configuration:
        """Return all options as a mutable configuration; changes take effect."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Add options.

        Args:
            configuration: Its options replace those of the same keys.

        Raises:
            ValueError: An option is misspelt, refused, or does not have this value.
        """
        check_options(configuration.to_dict())
        self._configuration.add_all(configuration)

    def get_local_timezone(self) -> str:
        """Return the ID of the time zone of the session; by default that of this machine.

        Raises:
            ValidationException: The time zone does not exist.
        """
        name = self._configuration.get(TABLE_LOCAL_TIME_ZONE)
        if name == "default":
            return system_time_zone()
        _zone(name)
        return name

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of the session.

        Args:
            timezone_id: A name such as `Europe/Berlin` or `UTC`, or an offset such as `GMT-03:00`.

        Raises:
            ValidationException: The time zone does not exist.
        """
        if timezone_id != "default":
            _zone(timezone_id)
        self._configuration.set_string(TABLE_LOCAL_TIME_ZONE.key, timezone_id)

    @property
    def time_zone(self) -> datetime.tzinfo:
        """Return the time zone of the session; by default that of this machine."""
        return _zone(self.get_local_timezone())

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set the time to live of query state after its last write (`table.exec.state.ttl`).

        Args:
            duration: The time, with ms precision; 0 means that state does not expire.
        """
        self._configuration.set_string(TABLE_STATE_TTL.key, f"{int(duration.total_seconds() * 1000)} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """Return the time to live of query state; 0 means that state does not expire."""
        return datetime.timedelta(seconds=self._configuration.get(TABLE_STATE_TTL))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Store the option. It has no effect, because no code is generated.

        Args:
            max_generated_code_length: Any integer.
        """
        self._configuration.set_integer(TABLE_CODE_LENGTH.key, max_generated_code_length)

    def get_max_generated_code_length(self) -> int:
        """Return the option. It has no effect, because no code is generated."""
        return self._configuration.get(TABLE_CODE_LENGTH)

    def get_sql_dialect(self) -> int:
        """Return the dialect of statements, one of `SqlDialect`."""
        return dialect_of(self._configuration.get(TABLE_SQL_DIALECT))

    def set_sql_dialect(self, sql_dialect: int) -> None:
        """Set the dialect of statements.

        Args:
            sql_dialect: `SqlDialect.DEFAULT`.

        Raises:
            NotImplementedError: The dialect is `SqlDialect.HIVE`.
        """
        if sql_dialect != SqlDialect.DEFAULT:
            raise NotImplementedError("The Hive dialect is not supported; use SqlDialect.DEFAULT")
        self._configuration.set_string(TABLE_SQL_DIALECT.key, "default")

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python interpreter that runs user-defined functions.

        Args:
            python_exec: The path of an interpreter.
        """
        self._configuration.set_string(PYTHON_EXECUTABLE.key, python_exec)

    def get_python_executable(self) -> str:
        """Return the Python interpreter that runs user-defined functions."""
        return self._configuration.get(PYTHON_EXECUTABLE)

    def to_map(self) -> dict[str, str]:
        """Return all options that are set."""
        return self._configuration.to_dict()


def _zone(name: str) -> datetime.tzinfo:
    try:
        return time_zone(name)
    except ValueError as error:
        raise ValidationException(
            f"Invalid time zone '{name}'. The value should be a Time Zone Database (TZDB) ID such as "
            "'America/Los_Angeles' or a GMT offset such as 'GMT-03:00'"
        ) from error
