"""Options of the archive of ended jobs and of the history server."""

from __future__ import annotations

from firesteel.common.options.kinds import duration, integer_from, path, paths, string
from firesteel.common.options.option import Option

ARCHIVE_DIR = Option(
    "jobmanager.archive.fs.dir",
    path,
    None,
    "Directory to which the JobManager writes a file for each ended job, on any file system",
)
HISTORY_DIRS = Option(
    "historyserver.archive.fs.dir",
    paths,
    None,
    "Directories of archived jobs that the history server shows, separated by commas",
)
HISTORY_REFRESH = Option(
    "historyserver.archive.fs.refresh-interval",
    duration,
    "10 s",
    "Time between two looks for new archives",
)
HISTORY_RETAINED = Option(
    "historyserver.archive.retained-jobs",
    integer_from(-1),
    "-1",
    "Number of the newest archives to keep in each directory; others are removed; -1 keeps all",
)
HISTORY_ADDRESS = Option("historyserver.web.address", string, "127.0.0.1", "Address of the history server")
HISTORY_PORT = Option("historyserver.web.port", integer_from(0), "8082", "Port of the history server; 0 for any")
