"""What can go wrong with elections and stores.

FiresteelError
  StaleLeaderError           a write under a leader session that is over
  CorruptEntryError          an entry that can't be read back
  HighAvailabilityError      the services can't be reached, or an option is wrong
"""

from __future__ import annotations

from firesteel.errors import FiresteelError

__all__ = ["CorruptEntryError", "HighAvailabilityError", "StaleLeaderError"]


class HighAvailabilityError(FiresteelError):
    """The services can't be built or reached."""


class StaleLeaderError(FiresteelError):
    """A write was made under a leader session that is over, and had no effect.

    Flink: `highavailability.KubernetesException` / Curator's `LeaderElectionException` cases, given one name.
    """

    def __str__(self) -> str:
        what, session_id = self.args
        return f"{what} was refused: leader session {session_id!r} is over; only the present leader may write"


class CorruptEntryError(FiresteelError):
    """An entry of a store can't be read back; the others can."""

    def __str__(self) -> str:
        folder, name, cause = self.args
        return f"the entry of job {name} in {folder!r} can't be read: {cause}; remove it or restore it from a copy"
