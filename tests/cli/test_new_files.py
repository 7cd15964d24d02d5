"""`firesteel examples` and `firesteel init`: what they make runs, from the wheel, too."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from firesteel.cli.new_files import _TEMPLATES, packaged
from tests.wheel import build_wheel

pytestmark = [pytest.mark.slow]


def run(directory: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def made(tmp_path):
    def make(*arguments: str) -> Path:
        run(tmp_path, "firesteel", *arguments, "new")
        return tmp_path / "new"

    return make


def test_there_is_a_template_of_each_name():
    assert sorted(path.name for path in packaged("templates").iterdir()) == list(_TEMPLATES)


@pytest.mark.spark
def test_the_program_of_a_template_runs(made):
    lines = run(made("init"), "firesteel", "run", "-q", "-p", 2, "job.py").splitlines()
    assert sorted(line.partition("> ")[2] for line in lines) == [
        "/: 1 clicks from second 10",
        "/: 1 clicks from second 30",
        "/: 2 clicks from second 0",
        "/shop: 2 clicks from second 0",
    ]


@pytest.mark.spark
def test_the_script_of_a_template_runs(made):
    assert "Received a total of 4 rows" in run(made("init", "--template", "sql"), "firesteel", "sql", "-f", "job.sql")


def test_the_tests_of_a_template_pass(made):
    assert "3 passed" in run(made("init", "--template", "tests"), "pytest", "-q", "-p", "no:cacheprovider")


def test_the_program_for_kafka_reaches_its_plan(made):
    directory = made("init", "--template", "kafka")
    assert "'word count', 5 operators" in run(directory, "firesteel", "check", "job.py")
    assert "kafka" in yaml.safe_load((directory / "compose.yaml").read_text())["services"]


def test_the_tests_of_the_examples_pass(made):
    directory = made("examples")
    assert "5 passed" in run(directory, "pytest", "-q", "-p", "no:cacheprovider")
    assert (directory / "data" / "alice.txt").exists()


def test_nothing_of_the_users_is_overwritten(tmp_path):
    (tmp_path / "mine").write_text("mine")
    done = subprocess.run(
        [sys.executable, "-m", "firesteel", "init", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "exists and is not empty" in done.stderr
    assert os.listdir(tmp_path) == ["mine"]


def test_the_wheel_brings_examples_and_templates(tmp_path):
    wheel = build_wheel(tmp_path)
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"firesteel/examples/word_count.py", "firesteel/examples/data/alice.txt"} <= names
    assert {"firesteel/templates/kafka/compose.yaml", "firesteel/templates/tests/test_job.py"} <= names
    assert "firesteel/migration/report.html" in names
