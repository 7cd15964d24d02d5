"""Errors of elections and stores.

FiresteelError
  StaleLeaderError           a write under a leader session that is over
  CorruptEntryError          an entry that can't be read back
    EntryVersionError        an entry of a later release, which this one can't read
    UntrustedEntryError      an entry that is not signed with the cluster's secret
      UntrustedObjectError   an object that belongs to the whole cluster and is not signed with its secret
  HighAvailabilityError      the services can't be reached, or an option is wrong
"""

from __future__ import annotations

from firesteel.errors import FiresteelError

__all__ = [
    "CorruptEntryError",
    "EntryVersionError",
    "HighAvailabilityError",
    "StaleLeaderError",
    "UntrustedEntryError",
    "UntrustedObjectError",
]


class HighAvailabilityError(FiresteelError):
    """The high-availability services can't be created or reached."""


class StaleLeaderError(FiresteelError):
    """A write under an expired leader session, which had no effect.

    Flink: `highavailability.KubernetesException` and Curator's `LeaderElectionException`.
    """

    def __str__(self) -> str:
        what, session_id = self.args
        return f"{what} was refused: leader session {session_id!r} has ended; only the current leader may write"


class CorruptEntryError(FiresteelError):
    """An entry of a store can't be read; other entries can."""

    def __str__(self) -> str:
        folder, name, cause = self.args
        return f"the entry of job {name} in {folder!r} can't be read: {cause}; remove it or restore it from a copy"


class EntryVersionError(CorruptEntryError):
    """A later release has written an entry; it stays for a JobManager that can read it."""

    def __str__(self) -> str:
        folder, name, (writer, version), (release, known) = self.args
        return (
            f"the entry of job {name} in {folder!r} was written by firesteel {writer} in format {version}, and this "
            f"process is firesteel {release}, which reads formats up to {known}: start JobManagers of the later release"
        )


class UntrustedEntryError(CorruptEntryError):
    """An entry is not signed with the cluster's secret; it was not unpickled."""

    def __str__(self) -> str:
        folder, name = self.args
        return (
            f"the entry of job {name} in {folder!r} can't be read: it is not signed with this cluster's secret, so it "
            "was damaged, or written by somebody else or under a former secret; remove it or restore it from a copy, "
            "or start the JobManager with the former secret (FIRESTEEL_RPC_SECRET, security.rpc.secret-file)"
        )


class UntrustedObjectError(UntrustedEntryError):
    """The lease or the index in an object store is not signed with the cluster's secret."""

    def __str__(self) -> str:
        return (
            f"{self.args[0]} is not signed with this cluster's secret, so nobody can lead: it was damaged, or written "
            "by somebody else or under another secret; start all processes with the secret under which it was written "
            "(FIRESTEEL_RPC_SECRET, security.rpc.secret-file), restore it from a copy, or use another "
            "high-availability.cluster-id"
        )
