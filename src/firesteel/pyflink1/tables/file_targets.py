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


_TARGETS: WeakKeyDictionary[TableEnvironment, dict[str, FileTarget]] = WeakKeyDictionary()


def set_file_target(environment: TableEnvironment, name: str, target: FileTarget) -> None:
    """Remember the path of a sink.

    Raises:
        NotImplementedError: it replaces existing files, in streaming mode.
    """
    if target.overwrites and is_streaming(environment):
        raise NotImplementedError(
            "WriteMode.OVERWRITE needs batch mode; delete the files before the job in streaming mode"
        )
    _TARGETS.setdefault(environment, {})[name] = target


def with_write_mode(environment: TableEnvironment, insert: PlannedInsert) -> PlannedInsert:
    """Return an insert that treats existing files as its sink demands.

    Raises:
        TableException: the path exists, and the sink does not replace it.
    """
    target = _TARGETS.get(environment, {}).get(insert.table.path[-1])
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
    known = _TARGETS.get(environment, {})
    names = (insert.table.path[-1] for insert in inserts)
    return list(dict.fromkeys(known[name] for name in names if name in known))


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
