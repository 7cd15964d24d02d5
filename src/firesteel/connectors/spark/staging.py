"""Rows that Spark writes to Parquet files before a job starts, and that the job reads."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from firesteel.common.files.file_systems import Files, join
from firesteel.common.files.remote_path import remove_tree
from firesteel.common.files.temporary_directories import private_directory
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.files.source import FileSource, FileSourceSettings
from firesteel.connectors.files.table_paths import ColumnsFileFormat, TableFiles
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StagedRead:
    """What a job reads of staged files.

    Attributes:
        stored: The columns of the files.
        columns: The columns that are read.
        options: The options of the table, of which `staging.path` is the directory.
    """

    stored: tuple[Column, ...]
    columns: tuple[Column, ...]
    options: Options


def staged_rows(
    environment: StreamExecutionEnvironment, read: StagedRead, write: Callable[[str], None], name: str
) -> Batches:
    """Return the rows of files that are written when the job is submitted.

    Args:
        environment: The environment.
        read: What is read.
        write: Lets Spark write the files to a directory.
        name: Name of the source.
    """
    configuration = environment.get_configuration().to_dict()
    path = join(staging_root(read.options, configuration), uuid.uuid4().hex)
    columns = Columns(tuple(c.name for c in read.stored), tuple(c.type for c in read.stored))
    parquet = make_format("parquet", columns, Options({}, "parquet"), "files")
    reading = TableFiles(parquet, tuple((c.name, c.type, False) for c in read.columns), (), (), "")
    staged: FileSource[ColumnBatch] = FileSource(FileSourceSettings(ColumnsFileFormat(reading), (path,)))
    staged.staging = Staging(write, path, configuration)
    return environment.from_source(staged, WatermarkStrategy.no_watermarks(), name)


class Staging:
    """The Parquet files of a source; not part of the job that is submitted.

    Args:
        write: Lets Spark write the files to a directory.
        path: The directory.
        configuration: Contains the credentials of the file system.
    """

    def __init__(self, write: Callable[[str], None], path: str, configuration: Mapping[str, str]) -> None:
        self._write = write
        self._path = path
        self._configuration = configuration

    def __reduce__(self) -> tuple[object, ...]:
        # It holds a Spark session, and only the process of the client writes and removes the files.
        return _nothing, ()

    def write(self) -> None:
        """Let Spark write the files.

        Raises:
            SparkTableError: Spark failed.
        """
        self._write(self._path)

    def remove(self) -> None:
        """Remove the files."""
        try:
            remove_tree(Files(self._configuration).path(self._path))
        except Exception:  # of any file system; the job is done already
            logger.warning("cannot remove the staged files in %s", self._path, exc_info=True)


def _nothing() -> None:
    """Return None, the staging of a source in any other process."""


def staging_root(options: Options, configuration: Mapping[str, str]) -> str:
    """Return the directory of staged files: `staging.path`, else a private one on the local disk."""
    path = options.values.get("staging.path")
    if path is not None:
        path = Files(configuration).resolve(path)
        return path if "://" in path else str(Path(path).absolute())
    return str(private_directory("spark", configuration))
