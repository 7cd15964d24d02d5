"""The versions of a Delta table to read, by the options of Delta's connector for Flink."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from firesteel.columns.pylist import pylist
from firesteel.common.files.file_systems import Files, join
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_options import Options

_BATCH = ("versionAsOf", "timestampAsOf")
_STREAMING = ("startingVersion", "startingTimestamp")
_MONITORING = ("updateCheckIntervalMillis", "ignoreDeletes", "ignoreChanges")
_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a Delta table.

    Attributes:
        path: Its path below the table, or a URI, as in the log.
        partition: The texts of the partition columns; None for NULL.
    """

    path: str
    partition: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions to read: one as a whole, then what later ones add.

    Attributes:
        whole: The version that is read as a whole; None for none.
        after: The version after which added files are read; None if they are not.
        ignores_deletes: Whether versions that only remove rows are passed over.
        ignores_changes: Whether files are read that a version adds in place of others.
    """

    whole: int | None = None
    after: int | None = None
    ignores_deletes: bool = False
    ignores_changes: bool = False

    def files_added(self, version: int, log: Files, table: str) -> Iterator[DataFile]:
        """Yield the files that a version adds. Flink: `ActionProcessor`.

        Raises:
            TableException: the version changes columns, or removes rows and that is not ignored.
        """
        actions = list(_actions(version, log, table))
        for kind in ("metaData", "protocol"):
            if version and any(kind in action for action in actions):
                raise TableException(f"Version {version} of the Delta table {table} has an action {kind}: start anew")
        added, removed = ([a[kind] for a in actions if kind in a and a[kind]["dataChange"]] for kind in _CHANGES)
        if removed and not (self.ignores_changes if added else self.ignores_deletes or self.ignores_changes):
            option = "ignoreChanges" if added else "ignoreDeletes"
            raise TableException(
                f"Version {version} of the Delta table {table} {'changes' if added else 'removes'} rows; set "
                f"'{option}' = 'true' to go on"
            )
        for action in added:
            yield DataFile(action["path"], action["partitionValues"])


_CHANGES = ("add", "remove")


def _actions(version: int, log: Files, table: str) -> Iterator[dict[str, dict[str, Any]]]:
    try:
        with log.open(join(table, "_delta_log", f"{version:020}.json")) as file:
            yield from map(json.loads, file.read().splitlines())
    except FileNotFoundError:
        raise TableException(f"The log of the Delta table {table} has version {version} no more: start anew") from None


def versions_of(options: Options, table: DeltaTable, is_bounded: bool) -> Versions:
    """Return the versions that the options of a table select.

    Raises:
        ValidationException: options exclude each other, or the version does not exist.
    """
    mode, allowed = ("batch", _BATCH) if is_bounded else ("streaming", _STREAMING)
    others = (*_STREAMING, *_MONITORING) if is_bounded else _BATCH
    _refuse([key for key in others if key in options.values], f"is not for 'mode' = '{mode}'")
    given = [key for key in allowed if key in options.values]
    _refuse(given[1:], f"excludes '{allowed[0]}'")
    flags = options.flag("ignoreDeletes"), options.flag("ignoreChanges")
    found = _chosen(options, table, given[0]) if given else table.version()
    if is_bounded:
        return Versions(found)
    return Versions(None, found - 1, *flags) if given else Versions(found, found, *flags)


def _refuse(keys: Sequence[str], reason: str) -> None:
    for key in keys:
        raise ValidationException(f"Option '{key}' of 'delta' {reason}")


def _chosen(options: Options, table: DeltaTable, key: str) -> int:
    if key == "startingVersion" and options.text(key).lower() == _LATEST:
        return table.version()
    if key in ("versionAsOf", "startingVersion"):
        number: int = options.number(key)
        if not 0 <= number <= table.version():
            raise options.invalid(key, f"a version from 0 to {table.version()}")
        return number
    return _at(options, table, key)


def _at(options: Options, table: DeltaTable, key: str) -> int:
    """Return the last version until a time, or for `startingTimestamp` the first one since it."""
    try:
        moment = datetime.datetime.fromisoformat(options.text(key))
    except ValueError:
        raise options.invalid(key, "a time such as '2024-02-24 04:55:00'") from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    at_ms = int(moment.timestamp() * 1000)
    commits = [(commit["version"], commit["timestamp"]) for commit in table.history()]
    if key == "timestampAsOf":
        found = max((version for version, ms in commits if ms <= at_ms), default=None)
    else:
        found = min((version for version, ms in commits if ms >= at_ms), default=None)
    if found is None:
        raise options.invalid(key, f"a time {'since the first' if key == 'timestampAsOf' else 'until the last'} commit")
    return int(found)


def data_files(table: DeltaTable) -> Iterator[DataFile]:
    """Yield the data files of a version."""
    keys, actions = table.metadata().partition_columns, pa.table(table.get_add_actions(flatten=True))
    paths, *values = (
        pylist(actions[name].combine_chunks()) for name in ("path", *(f"partition.{key}" for key in keys))
    )
    for place, path in enumerate(paths):
        yield DataFile(path, {key: _text(column[place]) for key, column in zip(keys, values, strict=True)})


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
