"""The run directory, in which the JobManagers of a user store files for commands of the same user."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from firesteel.common.files.trusted_directory import reason_for_distrust
from firesteel.common.process_start import start_time
from firesteel.errors import FiresteelError

__all__ = ["RUN_DIRECTORY", "UnsafeDirectoryError", "read_token", "run_directory", "write_token"]

RUN_DIRECTORY = "FIRESTEEL_RUN_DIR"
"""The environment variable that names the run directory."""


class UnsafeDirectoryError(FiresteelError):
    """Other users could have written to a directory; the arguments are its path, the reason and what names another."""

    def __str__(self) -> str:
        return (
            f"directory {self.args[0]} cannot be trusted: {self.args[1]}; expected a directory owned by this user that "
            f"nobody else can write to: remove it, or name another one in {self.args[2]}"
        )


def run_directory() -> Path:
    """Return the run directory, and create it if necessary: `FIRESTEEL_RUN_DIR`, or one for temporary files.

    Raises:
        UnsafeDirectoryError: it belongs to another user, is writable by others, or is a symbolic link.
    """
    named = os.environ.get(RUN_DIRECTORY)
    # A directory named by the user may be a link; below a world-writable directory anybody may have created the link.
    directory = Path(named).resolve() if named else Path(tempfile.gettempdir()) / f"firesteel-{os.getuid()}"
    with suppress(FileExistsError):  # Something else has that name.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = reason_for_distrust(directory)
    if reason is not None:
        raise UnsafeDirectoryError(directory, reason, RUN_DIRECTORY)
    return directory


def write_token(port: int, token: str) -> Path:
    """Store the token of this process, which serves at a port, for commands of this user, and return the file's path.

    The file names the process and its start time, because after its end others may listen at the port.

    Raises:
        UnsafeDirectoryError: the run directory cannot be trusted.
    """
    path = _token_file(port)
    path.unlink(missing_ok=True)
    with open(path, "x", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)) as file:
        file.write(f"{token} {os.getpid()} {start_time(os.getpid())}\n")
    return path


def read_token(port: int) -> str | None:
    """Return the token stored by this user's JobManager at a port, or None if none is running there.

    Raises:
        UnsafeDirectoryError: the run directory cannot be trusted.
    """
    try:
        token, process_id, started = _token_file(port).read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    return token if process_id.isdigit() and start_time(int(process_id)) == started else None


def _token_file(port: int) -> Path:
    return run_directory() / f"jobmanager-{port}.token"
