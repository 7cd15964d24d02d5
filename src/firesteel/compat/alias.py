"""`pyflink.*` as an alias of `firesteel.*`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

import firesteel
from firesteel.compat.exposed_names import expose_names, is_in_firesteel, missing_module
from firesteel.compat.missing import advice_for
from firesteel.compat.pyflink_version import __version__
from firesteel.graph.job_graph import PROCESS_SETUPS
from firesteel.pyflink1.modules import REMOVED_MODULES

_ALIASED = ("common", "datastream", "metrics", "table")
_ELSEWHERE = {
    **REMOVED_MODULES,
    "shell": "firesteel.compat.shell",
    "util.exceptions": "firesteel.compat.exceptions",
    "version": "firesteel.compat.pyflink_version",
}
"""Modules of PyFlink that have another name here, without `pyflink.`."""


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `pyflink.x` if there is a `firesteel.x`: the same module object under a second name."""

    def __init__(self) -> None:
        self._own_specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec of the module of firesteel, or of a placeholder for a module that only PyFlink has.

        Returns:
            None for other packages.

        Raises:
            ModuleNotFoundError: neither firesteel nor PyFlink has such a module.
        """
        if fullname == "pyflink":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if not fullname.startswith("pyflink."):
            return None
        name = fullname.removeprefix("pyflink.")
        if not _is_aliased(name) and advice_for(name) is None:
            raise ModuleNotFoundError(f"No module named {fullname!r} in firesteel and PyFlink 2.3", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Import and return the module of firesteel."""
        if spec.name == "pyflink":
            from firesteel.pyflink1.names import add_names  # late: it imports most of the API

            add_names()
            expose_names(of_tables=False)
            module = ModuleType("pyflink", "PyFlink's names, resolved to firesteel's.")
            module.__path__ = []
            module.__file__ = firesteel.__file__
            vars(module)["__version__"] = __version__
            return module
        name = spec.name.removeprefix("pyflink.")
        if not _is_aliased(name):
            return missing_module(name)
        if name == "table":
            from firesteel.pyflink1.tables.names import add_table_names  # late: programs of streams do not need it

            add_table_names()
            expose_names(of_tables=True)
        module = importlib.import_module(_ELSEWHERE.get(name, f"firesteel.{name}"))
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has replaced by the alias."""
        alias = module.__spec__.name if module.__spec__ is not None else ""
        own = self._own_specs.pop(alias, None)
        if own is not None:
            module.__spec__ = own


def _is_aliased(name: str) -> bool:
    return name in _ELSEWHERE or (name.split(".")[0] in _ALIASED and is_in_firesteel(name))


def alias_pyflink() -> None:
    """Make `import pyflink...` import firesteel's modules in this process; further calls have no effect.

    A class is the same object under both names and is pickled under firesteel's name.

    Raises:
        ImportError: the real PyFlink was imported before.

    Example:
        >>> alias_pyflink()
        >>> from pyflink.datastream import StreamExecutionEnvironment
    """
    if is_pyflink_aliased():
        return
    if "pyflink" in sys.modules:
        raise ImportError("PyFlink is imported already; call alias_pyflink() before any import of pyflink")
    sys.meta_path.insert(0, _AliasFinder())
    PROCESS_SETUPS.append(alias_pyflink)


def is_pyflink_aliased() -> bool:
    """Return whether `import pyflink...` imports firesteel's modules in this process."""
    return any(isinstance(finder, _AliasFinder) for finder in sys.meta_path)
