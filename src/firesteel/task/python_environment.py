"""The Python environment of a job's functions: its own Python files, requirements and archives.

Flink: `python.files`, `python.requirements` and `python.archives`, set by `env.add_python_file` and similar methods.
The first process that needs the environment prepares it, once, in the job's directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from firesteel.common.files.file_systems import Files, scheme_of
from firesteel.common.files.remote_path import RemotePath
from firesteel.common.options.python_dependencies import DEPENDENCIES, dependency_entries
from firesteel.common.options.python_options import PYTHON_ARCHIVES, PYTHON_FILES, PYTHON_REQUIREMENTS
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import ARTIFACT, ARTIFACT_DIRECTORY, JobGraph

ARTIFACT_DIGESTS = "$internal.python.artifact-digests"
"""The option with the digests of the files that a job ships, by name; Flink's internal options begin like this."""

_DIRECTORY = "python"
_ARTIFACTS = "artifacts"
_LINES_OF_PIP = 5


class PythonEnvironmentError(FiresteelError):
    """A file that the job's functions need is missing or invalid; the message says which and why."""

    def __str__(self) -> str:
        return str(self.args[0])


def python_directory(job_directory: Path) -> Path:
    """Return the directory where a job's Python environment is prepared."""
    return job_directory / _DIRECTORY


def leave_artifacts(job_graph: JobGraph, job_directory: Path) -> None:
    """Write the files that a job ships to its directory, and point its options to them."""
    directory = python_directory(job_directory) / _ARTIFACTS
    for name, data in job_graph.artifacts.items():
        number, _, file_name = Path(name).name.partition("-")
        path = directory / number / file_name.removesuffix(ARTIFACT_DIRECTORY)
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(ARTIFACT_DIRECTORY):
            with tarfile.open(fileobj=io.BytesIO(data)) as packed:
                # The filter refuses names that lead out of the directory.
                packed.extractall(path, filter="data")
        else:
            path.write_bytes(data)
        for key in DEPENDENCIES:
            if key in job_graph.configuration:
                job_graph.configuration[key] = job_graph.configuration[key].replace(ARTIFACT + name, str(path))
    job_graph.artifacts = {}


def store_artifacts(job_graph: JobGraph, remote: RemotePath, job_directory: Path) -> None:
    """Upload the files that a job ships, so that other hosts find them, and note their digests in its configuration.

    The files are code. Their digests travel with the job, so whoever can write to the store cannot exchange them.
    """
    directory = python_directory(job_directory) / _ARTIFACTS
    digests = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            remote.remote.upload(path, f"{remote}/{path.relative_to(job_directory)}")
            digests[str(path.relative_to(directory))] = _digest(path)
    if digests:
        job_graph.configuration[ARTIFACT_DIGESTS] = json.dumps(digests)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_artifacts(configuration: Mapping[str, str], remote: RemotePath, job_directory: Path) -> None:
    """Download the files that a job ships, unless they are on this host already.

    Raises:
        PythonEnvironmentError: somebody has changed a file in the store.
    """
    directory = python_directory(job_directory)
    if not any(configuration.get(key) for key in DEPENDENCIES):
        return
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stored = remote / _DIRECTORY / _ARTIFACTS
        for name, digest in json.loads(configuration.get(ARTIFACT_DIGESTS, "{}")).items():
            path = directory / _ARTIFACTS / name
            if path.is_file() and _digest(path) == digest:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            loaded = path.with_name(f".{path.name}.loaded")
            stored.remote.download(f"{stored}/{name}", loaded)
            if _digest(loaded) != digest:
                loaded.unlink()
                raise PythonEnvironmentError(f"{stored}/{name} was changed since the job was submitted")
            loaded.replace(path)


@contextmanager
def python_environment(configuration: Mapping[str, str], job_directory: Path) -> Iterator[None]:
    """Make the job's files importable in this process; restore the previous state afterwards.

    Raises:
        PythonEnvironmentError: a file is missing, or can't be unpacked or installed.
    """
    if not any(configuration.get(key) for key in DEPENDENCIES):
        yield
        return
    directory = python_directory(job_directory)
    _prepare(configuration, directory)
    path, modules, working_directory = list(sys.path), set(sys.modules), os.getcwd()
    import_path = _import_path(configuration, directory)
    sys.path[:0] = import_path
    os.chdir(directory / "archives")
    try:
        yield
    finally:
        os.chdir(working_directory)
        sys.path[:] = path
        _forget(set(sys.modules) - modules, import_path)


def _forget(modules: set[str], import_path: list[str]) -> None:
    """Remove modules that were imported from the given paths, as another job may have others with the same names."""
    for name in modules:
        origin = getattr(sys.modules.get(name), "__file__", None) or ""
        # Modules of installed packages stay: they are the same for each job, and many cannot be imported twice.
        if any(origin.startswith(entry) for entry in import_path):
            sys.modules.pop(name, None)


def _entries(configuration: Mapping[str, str], key: str, directory: Path) -> list[tuple[Path, str]]:
    return [(_local(path, directory), belonging) for path, belonging in dependency_entries(configuration.get(key, ""))]


def _local(path: str, directory: Path) -> Path:
    """Return the local path of a file; a file on a remote file system is downloaded to it by `_fetch`."""
    if scheme_of(path) is None:
        return Path(path)
    return directory / "fetched" / hashlib.sha256(path.encode()).hexdigest()[:16] / path.rpartition("/")[2]


def _fetch(configuration: Mapping[str, str], directory: Path) -> None:
    files = Files(configuration)
    for key in DEPENDENCIES:
        for path, _ in dependency_entries(configuration.get(key, "")):
            remote = files.remote(path)
            if remote is not None:
                target = _local(path, directory)
                target.parent.mkdir(parents=True, exist_ok=True)
                remote.download(path, target)


def _import_path(configuration: Mapping[str, str], directory: Path) -> list[str]:
    """Return the import path, on which files that were added later come first, as in PyFlink.

    Each file module has its own directory, so that neighbouring files stay hidden.
    """
    files = _entries(configuration, PYTHON_FILES.key, directory)
    found = [directory / "files" / str(i) if path.suffix == ".py" else path for i, (path, _) in enumerate(files)]
    return [str(path) for path in [*reversed(found), directory / "requirements"]]


def _prepare(configuration: Mapping[str, str], directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        # The slots of a host share the directory: the first one prepares it, and the others find it ready.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Created last, so work that was interrupted is done again.
        if (directory / "ready").exists():
            return
        _fetch(configuration, directory)
        for i, (path, _) in enumerate(_entries(configuration, PYTHON_FILES.key, directory)):
            _check(path, PYTHON_FILES.key)
            if path.suffix == ".py":
                target = directory / "files" / str(i)
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        for path, cache in _entries(configuration, PYTHON_REQUIREMENTS.key, directory):
            _check(path, PYTHON_REQUIREMENTS.key)
            _install(path, cache, directory / "requirements")
        (directory / "archives").mkdir(exist_ok=True)
        for path, target_name in _entries(configuration, PYTHON_ARCHIVES.key, directory):
            _check(path, PYTHON_ARCHIVES.key)
            _unpack(path, directory / "archives" / (target_name or path.name))
        (directory / "ready").touch()


def _check(path: Path, key: str) -> None:
    if not path.exists():
        raise PythonEnvironmentError(f"option {key!r}: {path} not found")


def _install(requirements: Path, cache: str, target: Path) -> None:
    """Install requirements with pip, exclusively from a directory of packages if one is given."""
    offline = ["--no-index", "--find-links", cache] if cache else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        str(target),
    ]
    done = subprocess.run(
        [*command, "-r", str(requirements), *offline],
        capture_output=True,
        text=True,
        check=False,
        # A question of pip, for a password for example, would wait for ever.
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LINES_OF_PIP:])
        raise PythonEnvironmentError(
            f"option {PYTHON_REQUIREMENTS.key!r}: pip could not install {requirements}: {said}"
        )


def _unpack(archive: Path, target: Path) -> None:
    """Unpack a zip or tar archive; no member may leave its directory, and executables stay executable."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    path = Path(packed.extract(member, target))
                    mode = member.external_attr >> 16 & 0o777
                    if mode and not member.is_dir():
                        path.chmod(mode)
        else:
            with tarfile.open(archive) as packed_tar:
                packed_tar.extractall(target, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise PythonEnvironmentError(f"option {PYTHON_ARCHIVES.key!r}: {archive} can't be unpacked: {error}") from error
