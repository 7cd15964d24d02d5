"""The committer of Delta tables: one version per checkpoint. Flink: `DeltaGlobalCommitter`.

Each writer is an application of Delta's, whose transactions are numbered: the log has the last one of each. A commit
whose outcome was unknown finds its transactions there when it is repeated, and does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from firesteel.common.table_errors import TableException
from firesteel.connectors.commit_retries import commit_with_retries
from firesteel.connectors.delta.address import DeltaAddress
from firesteel.functions.connector_base import CommitRequest, Committer


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The data files that one writer wrote for a checkpoint. Flink: `DeltaCommittable`.

    Attributes:
        application: The writer.
        transaction: The number of the writer's transaction, from 1.
        table_id: The table, which may be replaced by another one at its path.
        partition_columns: The partition columns of the table.
        added: Delta's descriptions of the files.
    """

    application: str
    transaction: int
    table_id: str
    partition_columns: tuple[str, ...]
    added: tuple[AddAction, ...]

    @staticmethod
    def merged(application: str, transaction: int, parts: Sequence[WrittenFiles]) -> WrittenFiles:
        """Return all files of a writer as one transaction."""
        added = tuple(action for part in parts for action in part.added)
        return WrittenFiles(application, transaction, parts[0].table_id, parts[0].partition_columns, added)


class DeltaCommitter(Committer):
    """Adds the data files of all subtasks to a table, in one version per checkpoint.

    Args:
        address: The table.
    """

    def __init__(self, address: DeltaAddress) -> None:
        self._address = address

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Set the options of the job, with credentials."""
        self._address = self._address.with_configuration(configuration)

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that the table is the one for which the files were written.

        Raises:
            TableException: it was replaced, or its partitioning was changed.
        """
        table = self._address.opened()
        for request in requests:
            self._check(table, request.committable)

    def _check(self, table: DeltaTable, written: WrittenFiles) -> None:
        found = table.metadata()
        if (str(found.id), tuple(found.partition_columns)) != (written.table_id, written.partition_columns):
            raise TableException(
                f"The Delta table {self._address} was replaced, or partitioned by other columns, after data files had "
                "been written"
            )

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Add the data files that were not added before.

        Raises:
            CommitFailedError: other writers were faster, even after several retries.
        """
        commit_with_retries(lambda: self._commit_new([one.committable for one in requests]), CommitFailedError)

    def _commit_new(self, written: Sequence[WrittenFiles]) -> None:
        table = self._address.opened()
        new = [files for files in written if files.transaction > (table.transaction_version(files.application) or 0)]
        if not new:
            return
        # Once more than at `check`: between the check and a repetition after a conflict the table may have been
        # replaced.
        for files in new:
            self._check(table, files)
        last: dict[str, int] = {}
        for files in new:
            last[files.application] = max(files.transaction, last.get(files.application, 0))
        table.create_write_transaction(
            [action for files in new for action in files.added],
            "append",
            table.schema(),
            list(table.metadata().partition_columns),
            commit_properties=CommitProperties(app_transactions=[Transaction(*each) for each in last.items()]),
        )
