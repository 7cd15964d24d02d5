"""The user's own modules, which a cluster does not have."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import firesteel
from firesteel.common.trust import pickling


def pickle_user_modules_by_value() -> None:
    """Pickle functions and classes of the user's own modules by value.

    These are the modules below the directory of the program. They are not installed on the cluster, and two jobs may
    have modules of the same name.
    """
    for module in _user_modules():
        pickling.pickle_by_value(module)


def _user_modules() -> Iterator[ModuleType]:
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is None:
        return
    # The path of the program may have symbolic links, and so have those of its modules.
    program = {Path(main).parent.absolute(), Path(main).resolve().parent}
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    not_theirs = [*installed, Path(firesteel.__file__).parent]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is None or module.__name__ == "__main__":
            continue
        path = Path(file)
        if _is_below(path, program) and not _is_below(path, not_theirs):
            yield module


def _is_below(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)
