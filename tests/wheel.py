"""The wheel of this checkout, and a directory in which it is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def build_wheel(directory: Path) -> Path:
    """Build the wheel from a copy of the sources in this directory and return its path."""
    source = directory / "source"
    ignored = shutil.ignore_patterns(".venv*", ".git", "build", "dist", "site", "__pycache__", ".mypy_cache", "tests")
    shutil.copytree(ROOT, source, ignore=ignored)
    for name in ("src", "examples", "templates"):  # some of their directories are called as those that are left out
        shutil.copytree(ROOT / name, source / name, dirs_exist_ok=True)
    _pip("wheel", "--no-build-isolation", "--wheel-dir", directory, source)
    [wheel] = directory.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, directory: Path) -> dict[str, str]:
    """Install the wheel alone in a directory, and return the variables with which programs find it there."""
    _pip("install", "--target", directory, wheel)
    return {"PYTHONPATH": str(directory), "PATH": f"{directory / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"}


def _pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *map(str, arguments), "--no-deps"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
