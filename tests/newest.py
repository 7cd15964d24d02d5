"""Run the tests that find changes of libraries, and name the package whose new version breaks them.

`make newest` installs the newest versions that pyproject.toml allows, and calls this with the file of locked versions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TESTS = ["-m", "(not spark and not slow) or libraries", "tests"]
OLDEST_PICKLER = "3.0.0"


def locked(lock: str) -> dict[str, str]:
    """Return the versions of a requirements file that apply to this interpreter, by canonical package name."""
    versions = {}
    for line in re.findall(r"^[a-zA-Z0-9].*?(?= *\\?$)", lock, re.MULTILINE):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate():
            (specifier,) = requirement.specifier
            versions[canonicalize_name(requirement.name)] = specifier.version
    return versions


def changed(lock: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the locked and the installed version of each package where they differ."""
    installed = {canonicalize_name(found.name): found.version for found in metadata.distributions()}
    return {name: (old, installed[name]) for name, old in lock.items() if installed.get(name, old) != old}


def main() -> int:
    """Run the tests; after a failure, run the failed ones again with the locked version of one package at a time."""
    differ = changed(locked(Path(sys.argv[1]).read_text()))
    print(
        "Newer than in the lock:", ", ".join(f"{name} {new} ({old})" for name, (old, new) in differ.items()) or "none"
    )
    # What fails once and then passes is no change of a library; the tests run beside others on a busy machine.
    if _passes("-n", "2", "--dist", "loadfile", *TESTS) or _passes("--last-failed", *TESTS):
        return 0 if _passes_with("cloudpickle", OLDEST_PICKLER, "tests/common/test_pickling.py") else 1
    for name, (old, new) in differ.items():
        if _passes_with(name, old, "--last-failed", *TESTS):
            print(f"BROKEN BY {name} {new}: with {old}, as in {sys.argv[1]}, the failed tests pass")
            break
        _install(name, new)
    else:
        print("No single package explains the failures: they pass with none of the locked versions alone")
    return 1


def _passes_with(name: str, version: str, *tests: str) -> bool:
    print(f"With {name} {version} ...")
    _install(name, version)
    return _passes(*tests)


def _passes(*arguments: str) -> bool:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *arguments]).returncode == 0


def _install(name: str, version: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, f"{name}=={version}"], check=True)


if __name__ == "__main__":
    sys.exit(main())
