"""The committer of Iceberg tables: one snapshot per checkpoint. Flink: `IcebergFilesCommitter`.

The summary of a snapshot holds the ids of the committables that it contains. A commit whose outcome was unknown finds
them when it is repeated, and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.exceptions import ValidationException as ConflictException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import TableProperties

from firesteel.common.table_errors import TableException
from firesteel.connectors.commit_retries import commit_with_retries
from firesteel.connectors.iceberg.files import data_files_of, files_with_keys, range_of, read_keys, remove_keys
from firesteel.connectors.iceberg.tables import IcebergTableAddress
from firesteel.functions.connector_base import CommitRequest, Committer

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction

JOB_ID = "flink.job-id"
OPERATOR_ID = "flink.operator-id"
CHECKPOINT_ID = "flink.max-committed-checkpoint-id"
COMMITTABLES = "firesteel.committables"


class WriteMode(Enum):
    """The effect of a sink on the rows of its table."""

    APPEND = "append"
    UPSERT = "upsert"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The data files that one subtask wrote for a checkpoint (Flink: `WriteResult`).

    Attributes:
        committable_id: Unique among all committables of the table.
        table_uuid: The table, which may be replaced by another one of its name.
        spec_id: The partition spec of the files.
        data_files: pyiceberg's descriptions of the files.
        keys: The files with the keys of the rows to remove from the table before the data files are added.
    """

    committable_id: str
    table_uuid: str
    spec_id: int
    data_files: tuple[Any, ...]
    keys: tuple[str, ...]

    @staticmethod
    def of(table: Any, data_files: Sequence[Any], keys: str | None) -> WrittenFiles:
        """Return files of a pyiceberg table; they have no id yet."""
        metadata = table.metadata
        uuid, files = str(metadata.table_uuid), tuple(data_files)
        return WrittenFiles("", uuid, metadata.default_spec_id, files, () if keys is None else (keys,))

    @staticmethod
    def merged(committable_id: str, parts: Sequence[WrittenFiles]) -> WrittenFiles:
        """Return all files of a subtask as one committable."""
        data_files = tuple(file for part in parts for file in part.data_files)
        keys = tuple(key for part in parts for key in part.keys)
        return WrittenFiles(committable_id, parts[0].table_uuid, parts[0].spec_id, data_files, keys)


@dataclass(frozen=True)
class IcebergCommitter(Committer):
    """Adds the data files of all subtasks to a table, in one snapshot per checkpoint.

    Attributes:
        address: The table.
        keys: The key columns of the mode UPSERT.
        mode: The effect on rows that are in the table.
    """

    address: IcebergTableAddress
    keys: tuple[str, ...]
    mode: WriteMode

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that the table is the one for which the files were written.

        Raises:
            TableException: it was replaced, or its partitioning was changed.
        """
        with self.address.opened() as table:
            for request in requests:
                self._check(table, request.committable)

    def _check(self, table: Table, written: WrittenFiles) -> None:
        if written.table_uuid != str(table.metadata.table_uuid):
            raise TableException(
                f"The Iceberg table {self.address} was dropped and created again after data files had been written"
            )
        if written.spec_id != table.metadata.default_spec_id:
            raise TableException(
                f"The partitioning of the Iceberg table {self.address} was changed after data files had been written: "
                f"they have the partition spec {written.spec_id}, the table has {table.metadata.default_spec_id}"
            )

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Add the data files that were not added before.

        Raises:
            CommitFailedException: other writers were faster, even after several retries.
        """
        for together in self._rounds(requests):
            commit_with_retries(partial(self._commit_new, together), CommitFailedException, ConflictException)

    def _rounds(self, requests: Sequence[CommitRequest]) -> Iterator[list[CommitRequest]]:
        """Yield the requests of each snapshot; replaced rows of a subtask must be committed in their order."""
        if self.mode is not WriteMode.UPSERT:
            yield list(requests)
            return
        of_writer: dict[tuple[str, int], list[CommitRequest]] = {}
        for request in sorted(requests, key=lambda request: request.number):
            of_writer.setdefault((request.job_id, request.subtask_index), []).append(request)
        for together in zip_longest(*of_writer.values()):
            yield [request for request in together if request is not None]

    def _commit_new(self, requests: Sequence[CommitRequest]) -> None:
        with self.address.opened() as table:
            committed = _committed_ids(table)
            new = [request for request in requests if request.committable.committable_id not in committed]
            if new:
                # pyiceberg's own retries would not notice that another JobManager has committed the same files.
                table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
                transaction = table.transaction()
                self._stage(table, transaction, new)
                transaction.commit_transaction()
            # Of all, also those that were committed before: the process may have died before it came here.
            remove_keys(table, (key for request in requests for key in request.committable.keys))

    def _stage(self, table: object, transaction: object, requests: Sequence[CommitRequest]) -> None:
        """Add one snapshot with all changes to a transaction."""
        written = [request.committable for request in requests]
        added = [file for files in written for file in files.data_files]
        changes = _Changes(added)
        if self.mode is WriteMode.UPSERT:
            changes.replace_keys(table, read_keys(table, [key for files in written for key in files.keys]))
        elif self.mode is WriteMode.OVERWRITE:
            changes.replace_partitions(table)
        changes.stage(transaction, _summary(table, requests))


class _Changes:
    """The data files that a snapshot adds and removes."""

    def __init__(self, added: Sequence[Any]) -> None:
        self._added = list(added)
        self._removed: list[Any] = []
        self._condition: BooleanExpression = AlwaysTrue()

    def replace_keys(self, table: object, keys: object) -> None:
        """Replace the data files that have rows with these keys by files without these rows (copy on write)."""
        self._condition = range_of(keys)
        for file, others in files_with_keys(table, keys, self._condition):
            self._removed.append(file)
            self._added += data_files_of(table, others)

    def replace_partitions(self, table: Table) -> None:
        """Remove the data files of all partitions that get new ones (Iceberg: `ReplacePartitions`)."""
        partitions = {file.partition for file in self._added}
        spec_id = table.metadata.default_spec_id
        files = (task.file for task in table.scan().plan_files())
        # Partitions by another spec have other values, which say nothing about the new ones.
        self._removed += [file for file in files if file.spec_id == spec_id and file.partition in partitions]

    def stage(self, transaction: Transaction, summary: dict[str, str]) -> None:
        """Add the snapshot to a transaction."""
        update = transaction.update_snapshot(snapshot_properties=summary)
        with update.overwrite() if self._removed else update.merge_append() as producer:
            for file in self._added:
                producer.append_data_file(file)
            for file in self._removed:
                producer.delete_data_file(file)
            if self._removed:  # pyiceberg looks for the files in manifests that can have rows of this condition
                producer.delete_by_predicate(self._condition)


def _committed_ids(table: Table) -> set[str]:
    """Return the ids of the committables in all snapshots of a table."""
    summaries = (snapshot.summary for snapshot in table.snapshots() if snapshot.summary is not None)
    return {name for summary in summaries for name in (summary[COMMITTABLES] or "").split(",")}


def _summary(table: Table, requests: Sequence[CommitRequest]) -> dict[str, str]:
    """Return the properties of the summary of a snapshot; the checkpoint id counts the commits of the sink."""
    job_id, operator_id = requests[0].job_id, requests[0].sink_id.rpartition("/")[2]
    summaries = [snapshot.summary for snapshot in table.snapshots() if snapshot.summary is not None]
    before = [
        int(summary[CHECKPOINT_ID] or 0)
        for summary in summaries
        if summary[JOB_ID] == job_id and summary[OPERATOR_ID] == operator_id
    ]
    return {
        JOB_ID: job_id,
        OPERATOR_ID: operator_id,
        CHECKPOINT_ID: str(max(before, default=0) + 1),
        COMMITTABLES: ",".join(request.committable.committable_id for request in requests),
    }
