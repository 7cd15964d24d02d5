"""The options of a program's Python dependencies: Python files, requirements and archives.

Flink: `PythonOptions` and `PythonDependencyUtils`. The value of an option is a comma-separated list of entries. An
entry is a path, optionally with `#` and a second name: the directory that an archive is unpacked into, or the directory
with the packages of requirements.
"""

from __future__ import annotations

from firesteel.common.files.file_systems import scheme_of
from firesteel.common.files.local_path import local_path
from firesteel.common.options.python_options import PYTHON_ARCHIVES, PYTHON_FILES, PYTHON_REQUIREMENTS

DEPENDENCIES = (PYTHON_FILES.key, PYTHON_REQUIREMENTS.key, PYTHON_ARCHIVES.key)


def dependency_entries(value: str) -> list[tuple[str, str]]:
    """Return (path, text after its `#`) of each entry of an option; URIs refer to remote file systems.

    >>> dependency_entries("file:///data/model.zip#model, words.txt")
    [('/data/model.zip', 'model'), ('words.txt', '')]
    """
    parts = [entry.strip().partition("#") for entry in value.split(",") if entry.strip()]
    return [(_named(path), _named(belonging) if belonging else "") for path, _, belonging in parts]


def _named(path: str) -> str:
    return str(local_path(path)) if scheme_of(path) is None else path
