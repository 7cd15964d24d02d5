"""Where a DataStream source starts. Flink CDC: `StartupOptions`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StartupOptions:
    """Where a source starts; made by its static methods.

    Attributes:
        mode: The value of `scan.startup.mode`.
        file: Of `specific_offset`: the file of the log.
        position: The place in the file.
        gtid_set: The set of GTIDs, instead of a file.
        timestamp_ms: Of `timestamp`: the time in ms.

    Example:
        >>> StartupOptions.latest().mode
        'latest-offset'
    """

    mode: str
    file: str = ""
    position: int = 4
    gtid_set: str = ""
    timestamp_ms: int = 0

    @staticmethod
    def initial() -> StartupOptions:
        """Read the tables, then their changes."""
        return StartupOptions("initial")

    @staticmethod
    def snapshot() -> StartupOptions:
        """Read the tables alone (MySQL)."""
        return StartupOptions("snapshot")

    @staticmethod
    def earliest() -> StartupOptions:
        """Read all changes that the log has (MySQL)."""
        return StartupOptions("earliest-offset")

    @staticmethod
    def latest() -> StartupOptions:
        """Read changes from now on."""
        return StartupOptions("latest-offset")

    @staticmethod
    def committed() -> StartupOptions:
        """Read changes from where the replication slot is (PostgreSQL)."""
        return StartupOptions("committed-offset")

    @staticmethod
    def specific_offset(file_or_gtid_set: str, position: int | None = None) -> StartupOptions:
        """Read changes from a position of the log (MySQL).

        Args:
            file_or_gtid_set: A file of the log, or with no position a set of GTIDs.
            position: The place in the file where a transaction begins.
        """
        if position is None:
            return StartupOptions("specific-offset", gtid_set=file_or_gtid_set)
        return StartupOptions("specific-offset", file_or_gtid_set, position)

    @staticmethod
    def timestamp(timestamp_ms: int) -> StartupOptions:
        """Read changes since a time in ms (MySQL)."""
        return StartupOptions("timestamp", timestamp_ms=timestamp_ms)
