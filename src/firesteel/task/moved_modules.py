"""Modules that have moved since state was written: its pickles name the modules of their classes."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["MOVED", "import_moved_modules"]

MOVED = {
    "firesteel.common.multipart": "firesteel.common.files.multipart",
    "firesteel.datastream.connectors.base": "firesteel.functions.connector_base",
    "firesteel.datastream.connectors.file_committer": "firesteel.connectors.files.committer",
    "firesteel.datastream.connectors.kafka_writer": "firesteel.connectors.kafka.writer",
    "firesteel.datastream.connectors.remote_committer": "firesteel.connectors.files.remote_committer",
    "firesteel.datastream.connectors.staging": "firesteel.connectors.staging",
    "firesteel.datastream.windows": "firesteel.functions.windows",
    "firesteel.operators.committables": "firesteel.operators.sinks.committables",
    "firesteel.operators.input_gate": "firesteel.operators.exchange.input_gate",
    "firesteel.operators.splits": "firesteel.functions.splits",
    "firesteel.operators.state_table": "firesteel.operators.state.state_table",
    "firesteel.operators.watermarks": "firesteel.operators.sources.watermarks",
    "firesteel.table.connectors.iceberg_committer": "firesteel.connectors.iceberg.committer",
}
"""Former name -> name of the modules whose classes state refers to."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the module itself under its former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(MOVED[spec.name])
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # The import system has replaced it.


def import_moved_modules() -> None:
    """Let this process import modules by their former names, as `pickle` does; further calls have no effect.

    Example:
        >>> import_moved_modules()
        >>> from firesteel.datastream.windows import TimeWindow
        >>> TimeWindow.__module__
        'firesteel.functions.windows'
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
