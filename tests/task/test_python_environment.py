from __future__ import annotations

import importlib
import os
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from firesteel.task.python_environment import PythonEnvironmentError, python_environment

pytestmark = pytest.mark.slow


def wheel(directory: Path, name: str, text: str) -> None:
    """A wheel of one module, as an index would have it."""
    directory.mkdir()
    with zipfile.ZipFile(directory / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}.py", text)
        packed.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel_info = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        packed.writestr(f"{name}-1.0.dist-info/WHEEL", wheel_info)
        packed.writestr(f"{name}-1.0.dist-info/RECORD", "")


def test_files_packages_and_zips_are_found_and_forgotten(tmp_path: Path) -> None:
    (tmp_path / "dep_of_a_job.py").write_text("VALUE = 1")
    (tmp_path / "neighbour_of_dep.py").write_text("VALUE = 2")
    (tmp_path / "lib" / "dep_package").mkdir(parents=True)
    (tmp_path / "lib" / "dep_package" / "__init__.py").write_text("VALUE = 3")
    with zipfile.ZipFile(tmp_path / "dep.zip", "w") as packed:
        packed.writestr("dep_zipped.py", "VALUE = 4")
    files = f"{tmp_path}/dep_of_a_job.py,{tmp_path}/lib,file://{tmp_path}/dep.zip"
    with python_environment({"python.files": files}, tmp_path / "job"):
        names = ("dep_of_a_job", "dep_package", "dep_zipped")
        assert [importlib.import_module(name).VALUE for name in names] == [1, 3, 4]
        with pytest.raises(ImportError):
            importlib.import_module("neighbour_of_dep")
    assert not [name for name in sys.modules if name.startswith("dep_")]
    with pytest.raises(ImportError):
        importlib.import_module("dep_of_a_job")


def test_files_that_are_added_later_come_first(tmp_path: Path) -> None:
    for name, value in (("first", 1), ("second", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dep_twice.py").write_text(f"VALUE = {value}")
    files = ",".join(f"{tmp_path}/{name}/dep_twice.py" for name in ("first", "second"))
    with python_environment({"python.files": files}, tmp_path / "job"):
        assert importlib.import_module("dep_twice").VALUE == 2


def test_requirements_are_installed_out_of_a_directory_of_packages(tmp_path: Path) -> None:
    wheel(tmp_path / "cache", "dep_required", "VALUE = 5")
    (tmp_path / "requirements.txt").write_text("dep_required==1.0\n")
    options = {"python.requirements": f"{tmp_path}/requirements.txt#{tmp_path}/cache"}
    with python_environment(options, tmp_path / "job"):
        assert importlib.import_module("dep_required").VALUE == 5
    (tmp_path / "requirements.txt").write_text("dep_that_is_not_there==1.0\n")
    with (
        pytest.raises(PythonEnvironmentError, match=r"pip could not install .*requirements.txt.*dep_that_is_not_there"),
        python_environment(options, tmp_path / "another job"),
    ):
        pass


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_archives_are_unpacked_into_the_working_directory(tmp_path: Path, kind: str) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    archive = tmp_path / f"data.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as packed:
            packed.write(tmp_path / "run.sh", "bin/run.sh")
    else:
        with tarfile.open(archive, "w:gz") as packed_tar:
            packed_tar.add(tmp_path / "run.sh", "bin/run.sh")
    before = os.getcwd()
    with python_environment({"python.archives": f"{archive},{archive}#named"}, tmp_path / "job"):
        for directory in (archive.name, "named"):
            assert os.access(f"{directory}/bin/run.sh", os.X_OK)
    assert os.getcwd() == before


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.zip").write_text("no archive")
    for options, message in (
        ({"python.files": "/nowhere/a.py"}, "option 'python.files': /nowhere/a.py not found"),
        ({"python.archives": f"{tmp_path}/data.zip"}, "data.zip can't be unpacked"),
    ):
        with pytest.raises(PythonEnvironmentError, match=message), python_environment(options, tmp_path / "job"):
            pass
