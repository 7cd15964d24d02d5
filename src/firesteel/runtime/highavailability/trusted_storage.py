"""The check that no other user can write to the storage of high availability.

Why: `docs/decisions/0024-signed-entries.md`.
"""

from __future__ import annotations

from pathlib import Path

from firesteel.common.files.run_directory import UnsafeDirectoryError
from firesteel.common.files.trusted_directory import reason_for_distrust, reason_for_distrust_of_parent

__all__ = ["check_storage"]


def check_storage(directory: Path) -> None:
    """Check that only this user can change the files of a cluster.

    Entries are signed, but whoever can write there can remove jobs, restore old entries and end the leadership.

    Args:
        directory: The directory of the cluster, which exists; its parent is `high-availability.storageDir`.

    Raises:
        UnsafeDirectoryError: another user could have written to it, or could exchange it.
    """
    for path, reason in (
        (directory, reason_for_distrust(directory)),
        (directory.parent, reason_for_distrust_of_parent(directory.parent)),
    ):
        if reason is not None:
            raise UnsafeDirectoryError(path, reason, "the option high-availability.storageDir")
