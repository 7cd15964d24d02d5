"""Why an upgrade did not succeed, and what runs then."""

from __future__ import annotations

from firesteel.errors import FiresteelError


class UpgradeError(FiresteelError):
    """The upgrade was refused, or taken back; the text says why, and what runs now."""


def undecided(former: str, error: BaseException) -> UpgradeError:
    """Return the error of a job that was asked to stop, when it is not known whether it did."""
    return UpgradeError(
        f"job {former} was asked to stop with a savepoint, and nothing replaces it ({reason_of(error)}); look with "
        "`firesteel list` whether it runs on, and if not, start it again with `firesteel run -s SAVEPOINT`"
    )


def left_stopped(
    former: str, successor: str | None, savepoint: str, why: BaseException, error: BaseException
) -> UpgradeError:
    """Return the error of a stopped job that could not be started again.

    Args:
        former: Id of the job.
        successor: Id of the job that was to replace it; None if there was none yet.
        savepoint: The savepoint of the former job.
        why: Why the upgrade failed.
        error: Why the former job could not be started again.
    """
    left = "" if successor is None else f"job {successor} of the new program may run, "
    return UpgradeError(
        f"the upgrade failed ({reason_of(why)}), and the former program could not be started again "
        f"({reason_of(error)}): job {former} is stopped, {left}and the savepoint is {savepoint}; look with `firesteel "
        f"list`, and start the former program with `firesteel run -s {savepoint}`"
    )


def reason_of(error: BaseException) -> str:
    """Return an error in words."""
    return "interrupted by the user" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
