"""Artifacts of a job that is submitted to another machine: files named by options, and the user's own modules."""

from __future__ import annotations

import io
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import firesteel
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.common.options.python_dependencies import DEPENDENCIES, dependency_entries
from firesteel.common.options.python_options import PYTHON_REQUIREMENTS
from firesteel.common.trust import pickling
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import ARTIFACT, ARTIFACT_DIRECTORY, JobGraph


class ArtifactError(FiresteelError):
    """A file that the job needs cannot be read; the arguments are the option, the path and the reason."""

    def __str__(self) -> str:
        option, path, reason = self.args
        return f"option {option!r}: cannot read {path}: {reason}"


def pack_artifacts(job_graph: JobGraph) -> dict[str, bytes]:
    """Return the files that a job's options name, and replace the paths in the options by artifact names.

    Raises:
        ArtifactError: a file cannot be read.
    """
    artifacts: dict[str, bytes] = {}
    files = Files(job_graph.configuration)
    for option in DEPENDENCIES:
        if option in job_graph.configuration:
            packed = []
            for path, belonging in dependency_entries(job_graph.configuration[option]):
                if belonging and option == PYTHON_REQUIREMENTS.key:
                    belonging = _pack(option, belonging, artifacts, files)
                packed.append(_pack(option, path, artifacts, files) + (f"#{belonging}" if belonging else ""))
            job_graph.configuration[option] = ",".join(packed)
    return artifacts


def _pack(option: str, text: str, artifacts: dict[str, bytes], files: Files) -> str:
    path = files.path(text)
    if isinstance(path, RemotePath):
        name = f"{len(artifacts)}-{path.name}"
        artifacts[name] = path.read_bytes()
        return f"{ARTIFACT}{name}"
    name = f"{len(artifacts)}-{path.resolve().name}"
    try:
        if path.is_dir():
            name += ARTIFACT_DIRECTORY
            artifacts[name] = _tar(path)
        else:
            artifacts[name] = path.read_bytes()
    except OSError as error:
        raise ArtifactError(option, path, error.strerror or error) from error
    return f"{ARTIFACT}{name}"


def _tar(directory: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(directory, ".")
    return packed.getvalue()


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
    program = Path(main).resolve().parent
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    not_theirs = [*installed, Path(firesteel.__file__).parent]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is None or module.__name__ == "__main__":
            continue
        path = Path(file)
        if path.is_relative_to(program) and not any(path.is_relative_to(directory) for directory in not_theirs):
            yield module
