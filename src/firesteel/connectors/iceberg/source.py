"""The source of Iceberg tables: a split is a data file. Flink: `IcebergSource`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.transforms import IdentityTransform

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, slices
from firesteel.columns.values import arrow_type, to_python
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.data_file_source import DataFileSource
from firesteel.connectors.iceberg.tables import IcebergTableAddress
from firesteel.connectors.stored_columns import to_sql_array
from firesteel.connectors.table_connector import ScanRequest
from firesteel.connectors.table_options import Options

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table

BATCH_ROWS = 10_000

_STARTS, _ENDS = ("start-snapshot-id", "start-tag"), ("end-snapshot-id", "end-tag")
_BRANCH = "branch"
_SNAPSHOT_OPTIONS = ("snapshot-id", "as-of-timestamp", "tag", *_STARTS, *_ENDS)
_STREAMING = {*_STARTS, _BRANCH}

_PRUNABLE = (t.BooleanType, t.IntegralType, t.DecimalType, t.CharType, t.VarCharType, t.DateType)


@dataclass(frozen=True, slots=True)
class SnapshotRange:
    """The data files to read: those of one snapshot, then those that later snapshots append.

    Attributes:
        snapshot_id: The snapshot that is read in full; None for no such snapshot.
        is_incremental: Whether appended files are read.
        after: The snapshot after which appended files are read; None for all of the table's history.
        until: The last snapshot whose appended files are read; None for the current one.
        branch: The branch whose last snapshot is the current one.
    """

    snapshot_id: int | None = None
    is_incremental: bool = False
    after: int | None = None
    until: int | None = None
    branch: str = MAIN_BRANCH

    def plan(self, table: Table) -> Iterator[Any]:
        """Yield pyiceberg's task for each data file.

        Raises:
            ValueError: a snapshot does not exist any more, or they do not follow each other.
        """
        if self.snapshot_id is not None:
            yield from table.scan(snapshot_id=self.snapshot_id).plan_files()
        if self.is_incremental:
            last = current_id(table, self.branch) if self.until is None else self.until
            if last is not None and last != self.after:
                scan = table.incremental_append_scan(
                    from_snapshot_id_exclusive=self.after, to_snapshot_id_inclusive=last
                )
                yield from scan.plan_files()


def files_of(options: Options, table: object, is_bounded: bool) -> SnapshotRange:
    """Return the data files that the options of a table select. Flink: `ScanContext`.

    Args:
        options: `snapshot-id`, `as-of-timestamp`, `branch`, `tag`, and the starts and ends of ranges.
        table: The pyiceberg table.
        is_bounded: Whether later snapshots are not read.

    Raises:
        ValidationException: the options exclude each other, or a snapshot does not exist.
    """
    given = [key for key in _SNAPSHOT_OPTIONS if key in options.values]
    if len(given) > 1 and (len(given) > 2 or given[0] not in _STARTS or given[1] not in _ENDS):
        raise ValidationException(f"The options {' and '.join(map(repr, given))} of 'iceberg' exclude each other")
    if not is_bounded and not set(given) <= _STREAMING:
        raise ValidationException(f"Cannot set {given[-1]} option for streaming reader")
    branch = _branch(options, table, given)
    start, end = (_named_snapshot(options, table, keys) for keys in (_STARTS, _ENDS))
    if start is not None or end is not None:
        current = current_id(table, branch) if is_bounded else None
        return SnapshotRange(None, True, start, current if end is None else end, branch)
    chosen = _chosen_snapshot(options, table, branch)
    return SnapshotRange(chosen) if is_bounded else SnapshotRange(chosen, True, chosen, branch=branch)


def _branch(options: Options, table: Table, given: Sequence[str]) -> str:
    """Return the branch to read, `main` by default, which need not be there before the first snapshot."""
    name = options.text(_BRANCH, MAIN_BRANCH)
    if name != MAIN_BRANCH and table.refs().get(name, _NO_REF).snapshot_ref_type != SnapshotRefType.BRANCH:
        raise options.invalid(_BRANCH, f"a branch of the table ({_names(table, SnapshotRefType.BRANCH)})")
    if _BRANCH in options.values and {"snapshot-id", "as-of-timestamp", "tag"} & set(given):
        raise ValidationException(f"The options '{_BRANCH}' and '{given[0]}' of 'iceberg' exclude each other")
    return name


_NO_REF = SnapshotRef(snapshot_id=-1, snapshot_ref_type=SnapshotRefType.TAG)


def _names(table: Table, kind: SnapshotRefType) -> str:
    return ", ".join(name for name, ref in table.refs().items() if ref.snapshot_ref_type == kind) or "it has none"


def _chosen_snapshot(options: Options, table: Table, branch: str) -> int | None:
    """Return the snapshot to read in full: the one that options name, otherwise the current one."""
    named = _named_snapshot(options, table, ("snapshot-id", "tag"))
    if named is not None:
        return named
    moment = options.number("as-of-timestamp")
    if moment is None:
        return current_id(table, branch)
    found = table.snapshot_as_of_timestamp(moment)
    if found is None:
        raise ValidationException(f"Cannot find a snapshot older than as-of-timestamp {moment} (ms since the epoch)")
    return int(found.snapshot_id)


def _named_snapshot(options: Options, table: Table, keys: tuple[str, str]) -> int | None:
    """Return the snapshot that one of two options names, by its id or by a tag."""
    by_id, by_tag = keys
    number: int | None = options.number(by_id)
    if number is not None and table.snapshot_by_id(number) is None:
        known = ", ".join(str(snapshot.snapshot_id) for snapshot in table.snapshots())
        raise options.invalid(by_id, f"a snapshot of the table ({known or 'it has none'})")
    if by_tag in options.values:
        ref = table.refs().get(options.text(by_tag))
        if ref is None or ref.snapshot_ref_type != SnapshotRefType.TAG:
            raise options.invalid(by_tag, f"a tag of the table ({_names(table, SnapshotRefType.TAG)})")
        number = int(ref.snapshot_id)
    return number


def current_id(table: Table, branch: str) -> int | None:
    """Return the last snapshot of a branch, None if there is none."""
    current = table.snapshot_by_name(branch)
    return None if current is None else current.snapshot_id


class IcebergSource(DataFileSource["FileScanTask"]):
    """Reads data files as column batches; delete files are applied.

    Args:
        address: The table.
        files: The data files to read.
        request: The columns to read, and the partitions that a filter leaves.
        monitor_ms: Interval in ms at which new snapshots are discovered; None reads the present ones and ends.
    """

    def __init__(
        self, address: IcebergTableAddress, files: SnapshotRange, request: ScanRequest, monitor_ms: int | None
    ) -> None:
        super().__init__(f"Iceberg table {address}", monitor_ms)
        self._address = address
        self._range = files
        self._request = request
        self._table: Any = None
        self._last_snapshot: int | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "_table": None, "_last_snapshot": None}

    def new_files(self) -> Mapping[str, FileScanTask]:
        """Load the table, and plan the files of the snapshots since the last call."""
        with self._address.opened() as table:
            found = current_id(table, self._range.branch)
            if self._table is not None and found == self._last_snapshot:
                return {}
            files = self._range
            if self._last_snapshot is not None and files.is_incremental:
                files = replace(files, snapshot_id=None, after=self._last_snapshot)
            self._table, self._last_snapshot = table, found
            return {task.file.file_path: task for task in files.plan(table) if self._is_wanted(task, table)}

    def _is_wanted(self, task: FileScanTask, table: Table) -> bool:
        """Return whether a file can have rows of the partitions that the filter leaves."""
        if self._request.partitions is None:
            return True
        names = {field.field_id: field.name for field in table.schema().fields}
        stored = {
            names.get(field.source_id): task.file.partition[index]
            for index, field in enumerate(table.specs()[task.file.spec_id].fields)
            if isinstance(field.transform, IdentityTransform)
        }
        values = _partition_values(self._request.partitions.keys, stored)
        return values is None or bool(self._request.partitions(values))

    def read_file(self, file: FileScanTask) -> Iterator[ColumnBatch]:
        """Yield the rows of a data file."""
        table, task = self._table, file
        names = [column.name for column in self._request.columns]
        # Without any column Arrow does not tell how many rows there are.
        schema = table.schema().select(*(names or table.schema().column_names[:1]))
        scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
        # ArrowScan.to_record_batches() would hold all rows of the file in memory.
        deletes = _read_all_delete_files(table.io, [task])
        for batch in scan._record_batches_from_scan_tasks_and_deletes([task], deletes):
            yield from self._columns(batch)

    def _columns(self, batch: pa.RecordBatch) -> Iterator[ColumnBatch]:
        columns = tuple(to_sql_array(batch.column(c.name), c.type) for c in self._request.columns)
        whole = ColumnBatch(columns, batch.num_rows)
        yield from slices(whole, BATCH_ROWS)


def _partition_values(
    keys: Sequence[tuple[str, t.DataType]], stored: Mapping[str | None, Any]
) -> dict[str, Any] | None:
    """Return the partition values as Python objects; None if the file is not partitioned by all of the columns."""
    values: dict[str, Any] = {}
    for name, kind in keys:
        if name not in stored or not isinstance(kind, _PRUNABLE):
            return None
        values[name] = to_python(pa.array([stored[name]], arrow_type(kind)), kind)[0]
    return values
