"""Setters of `TableConfig` that became options, or went with the old planner."""

from __future__ import annotations

from datetime import timedelta

from firesteel.pyflink1.removed import Removed, note
from firesteel.table.table_config import TableConfig

CATALOG, DATABASE = "built-in-catalog-name", "built-in-database-name"
"""Entries of a TableConfig that name the first catalog and database, for `create` of the environments.

They are not Flink's options of similar names, which today's environments refuse.
"""

_NAMES = "EnvironmentSettings.new_instance().with_built_in_catalog_name() and with_built_in_database_name()"
_RETENTION = "set_idle_state_retention()"
_NULLS = "nothing; NULL is always checked"
_ZONE = "set_local_timezone()"


def set_built_in_catalog_name(self: TableConfig, built_in_catalog_name: str) -> None:
    """Set the name of the catalog that an environment created with these options begins with."""
    note("TableConfig.set_built_in_catalog_name()", _NAMES)
    self.get_configuration().set_string(CATALOG, built_in_catalog_name)


def get_built_in_catalog_name(self: TableConfig) -> str:
    """Return the name of the first catalog."""
    return self.get(CATALOG, "default_catalog")


def set_built_in_database_name(self: TableConfig, built_in_database_name: str) -> None:
    """Set the name of the database that an environment created with these options begins with."""
    note("TableConfig.set_built_in_database_name()", _NAMES)
    self.get_configuration().set_string(DATABASE, built_in_database_name)


def get_built_in_database_name(self: TableConfig) -> str:
    """Return the name of the first database."""
    return self.get(DATABASE, "default_database")


def set_idle_state_retention_time(self: TableConfig, min_time: timedelta, max_time: timedelta) -> None:
    """Set the time to live of query state to the minimum, as Flink has done since 1.12.

    Raises:
        ValueError: the maximum is not five minutes above the minimum, as in Flink.
    """
    note("TableConfig.set_idle_state_retention_time()", _RETENTION)
    if max_time - min_time < timedelta(minutes=5) and not max_time == min_time == timedelta(0):
        raise ValueError(f"max_time must be at least 5 minutes above min_time, found {min_time} and {max_time}")
    self.set_idle_state_retention(min_time)


def get_min_idle_state_retention_time(self: TableConfig) -> int:
    """Return the time to live of query state in ms."""
    return int(self.get_idle_state_retention().total_seconds() * 1000)


def get_max_idle_state_retention_time(self: TableConfig) -> int:
    """Return one and a half times the time to live of query state in ms, as Flink does since 1.12."""
    return get_min_idle_state_retention_time(self) * 3 // 2


def set_null_check(self: TableConfig, null_check: bool) -> None:
    """Accept True.

    Raises:
        NotImplementedError: the check is to be switched off.
    """
    note("TableConfig.set_null_check()", _NULLS)
    if not null_check:
        raise NotImplementedError("TableConfig.set_null_check(False): NULL is always checked; leave out the call")


def get_null_check(self: TableConfig) -> bool:
    """Return True."""
    return True


def set_timezone(self: TableConfig, timezone_id: str) -> None:
    """Set the time zone of the session."""
    note("TableConfig.set_timezone()", _ZONE)
    self.set_local_timezone(timezone_id)


def get_timezone(self: TableConfig) -> str:
    """Return the time zone of the session."""
    return self.get_local_timezone()


_METHODS = (
    (set_built_in_catalog_name, _NAMES),
    (get_built_in_catalog_name, _NAMES),
    (set_built_in_database_name, _NAMES),
    (get_built_in_database_name, _NAMES),
    (set_idle_state_retention_time, _RETENTION),
    (get_min_idle_state_retention_time, "get_idle_state_retention()"),
    (get_max_idle_state_retention_time, "get_idle_state_retention()"),
    (set_null_check, _NULLS),
    (get_null_check, _NULLS),
    (set_timezone, _ZONE),
    (get_timezone, "get_local_timezone()"),
)
REMOVED = tuple(Removed(("table.TableConfig",), method.__name__, method, instead) for method, instead in _METHODS)
