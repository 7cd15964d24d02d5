"""Files that a job's options name, packed into the job so that it can be submitted to another machine."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.common.options.python_dependencies import DEPENDENCIES, dependency_entries
from firesteel.common.options.python_options import PYTHON_REQUIREMENTS
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
    if text.startswith(ARTIFACT):
        return text  # It was packed before.
    path = files.path(text)
    if isinstance(path, RemotePath):
        # Numbered, as files of several directories may have the same name.
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
