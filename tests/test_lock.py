from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import newest

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
INSTALLED = [*PROJECT["dependencies"], *OPTIONAL["java"], *OPTIONAL["dev"]]


@pytest.mark.parametrize("wanted", INSTALLED)
def test_the_lock_holds_a_version_that_the_project_allows(wanted: str) -> None:
    requirement = Requirement(wanted)
    version = newest.locked(LOCK)[canonicalize_name(requirement.name)]
    assert version in requirement.specifier, "run make lock"


def test_each_locked_version_has_hashes() -> None:
    for entry in re.split(r"\n(?=[a-zA-Z0-9])", LOCK)[1:]:
        assert "--hash=sha256:" in entry, entry


def test_the_lock_names_no_host() -> None:
    assert "://" not in LOCK
    assert "index-url" not in LOCK


def test_lines_for_other_interpreters_are_left_out() -> None:
    lock = "a==1 ; python_version < '3'\na==2 ; python_version >= '3' \\\n    --hash=sha256:00\nB_c==3 \\\n"
    assert newest.locked(lock) == {"a": "2", "b-c": "3"}


def test_changed_packages_are_those_installed_in_another_version() -> None:
    lock = {"pytest": "0.1", "not-installed": "1"}
    assert newest.changed(lock) == {"pytest": ("0.1", pytest.__version__)}
