"""Files that sinks of Flink 1 wrote: what happens if they exist, and a single file if the parallelism is 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakKeyDictionary

from firesteel.common.files.file_systems import scheme_of
from firesteel.common.files.local_path import local_path
from firesteel.common.table_errors import TableException
from firesteel.table.execution.insert_planning import PlannedInsert
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import is_streaming, stream_environment_of

_GATHERED = ".gathered"


@dataclass(frozen=True)
class FileTarget:
    """The path that a sink writes to.

    Attributes:
        path: The path.
        overwrites: Whether existing files are replaced.
        parallelism: The number of subtasks that write, None for the default.
    """

    path: str
    overwrites: bool = False
    parallelism: int | None = None

    @property
    def local(self) -> Path:
        """The path on this machine; it does not exist for other file systems."""
        return local_path(self.path) if scheme_of(self.path) is None else Path(self.path)


_Path = tuple[str, ...]
_TARGETS: WeakKeyDictionary[TableEnvironment, dict[_Path, FileTarget]] = WeakKeyDictionary()


def set_file_target(environment: TableEnvironment, path: _Path, target: FileTarget) -> None:
    """Remember the files of a sink, which is the table of a path.

    Raises:
        NotImplementedError: it replaces existing files, in streaming mode.
    """
    if target.overwrites and is_streaming(environment):
        raise NotImplementedError(
            "WriteMode.OVERWRITE needs batch mode; delete the files before the job in streaming mode"
        )
    around = environment.get_current_catalog() or "", environment.get_current_database() or ""
    _TARGETS.setdefault(environment, {})[(*around[: 3 - len(path)], *path)] = target


def with_write_mode(environment: TableEnvironment, insert: PlannedInsert) -> PlannedInsert:
    """Return an insert that treats existing files as its sink demands.

    Raises:
        TableException: the path exists, and the sink does not replace it.
    """
    target = _target_of(environment, insert)
    if target is None:
        return insert
    if target.overwrites:
        return replace(insert, request=replace(insert.request, overwrite=True))
    if target.local.exists():
        raise TableException(
            f"Output path '{target.local}' exists already. Existing files are not overwritten in NO_OVERWRITE mode; "
            "use WriteMode.OVERWRITE"
        )
    return insert


def targets_of(environment: TableEnvironment, inserts: Iterable[PlannedInsert]) -> list[FileTarget]:
    """Return the paths that inserts write to, without repetition."""
    found = (_target_of(environment, insert) for insert in inserts)
    return list(dict.fromkeys(target for target in found if target is not None))


def _target_of(environment: TableEnvironment, insert: PlannedInsert) -> FileTarget | None:
    """Return the files of a sink, None if its table has been replaced by another one since."""
    target = _TARGETS.get(environment, {}).get(insert.table.path)
    return target if target is not None and insert.table.options.get("path") == target.path else None


def remove_single_files(targets: Iterable[FileTarget]) -> None:
    """Remove the single files that sinks are to replace, since they write directories."""
    for target in targets:
        if target.overwrites and target.local.is_file():
            target.local.unlink()


def gather_single_files(environment: TableEnvironment, targets: Iterable[FileTarget]) -> None:
    """Replace the directory of each sink with parallelism 1 by its only file, as Flink 1 wrote it."""
    default = stream_environment_of(environment).get_parallelism()
    for target in targets:
        if (target.parallelism or default) == 1 and target.local.is_dir():
            _gather(target.local)


def _gather(directory: Path) -> None:
    found = list(directory.iterdir())
    if len(found) == 1 and found[0].is_file():
        gathered = directory.with_name(directory.name + _GATHERED)
        found[0].rename(gathered)
        directory.rmdir()
        gathered.rename(directory)
