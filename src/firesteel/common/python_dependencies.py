"""The options that name what a program's functions need: Python files, requirements and archives.

Flink: `PythonOptions` and `PythonDependencyUtils`. The value of an option is a list of entries with commas between;
an entry is a path, and perhaps `#` and what belongs to it: the name of an archive's directory, or the directory with
the packages of requirements.
"""

from __future__ import annotations

from firesteel.common.file_systems import scheme_of
from firesteel.common.local_path import local_path

FILES = "python.files"
REQUIREMENTS = "python.requirements"
ARCHIVES = "python.archives"
DEPENDENCIES = (FILES, REQUIREMENTS, ARCHIVES)


def dependency_entries(value: str) -> list[tuple[str, str]]:
    """(path, what stands behind its `#`) of each entry of an option; URIs are of remote file systems.

    >>> dependency_entries("file:///data/model.zip#model, words.txt")
    [('/data/model.zip', 'model'), ('words.txt', '')]
    """
    parts = [entry.strip().partition("#") for entry in value.split(",") if entry.strip()]
    return [(_named(path), _named(belonging) if belonging else "") for path, _, belonging in parts]


def _named(path: str) -> str:
    return str(local_path(path)) if scheme_of(path) is None else path
