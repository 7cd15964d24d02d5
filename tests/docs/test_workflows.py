"""Workflows name what there is, and a change of pages alone runs each test that reads pages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
PAGE = re.compile(r"docs(/\S*)?|(CHANGELOG|CONTRIBUTING|SECURITY)\.md")
EXPRESSION = re.compile(r"\$\{\{ *matrix\.(\w+) *\}\}")


def commands(workflow: Path) -> list[str]:
    """Return what the steps of a workflow run, for each entry of their matrix."""
    found = []
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        entries = matrix.get("include") or [{key: values[0] for key, values in matrix.items()}]
        for entry in entries:
            for step in job["steps"]:
                found.append(EXPRESSION.sub(lambda name, entry=entry: str(entry.get(name[1], "")), step.get("run", "")))
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_each_target_of_a_workflow_is_in_the_makefile(workflow: Path) -> None:
    called = [command for command in commands(workflow) if "make " in command]
    named = {name for command in called for part in re.findall(r"\bmake ([^|&;]+)", command) for name in part.split()}
    targets = {name for name in named if re.fullmatch("[a-z-]+", name)}
    assert targets
    assert targets <= TARGETS


def page_tests() -> list[Path]:
    text = re.search(r"^PAGE_TESTS = ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    assert text is not None
    return [ROOT / path for path in text[1].replace("\\\n", " ").split()]


def reads_pages(module: Path) -> bool:
    """Return whether a constant of a module is a path of the documentation; docstrings only mention one."""
    constants = [node.value for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Constant)]
    return any(PAGE.fullmatch(text) for text in constants if isinstance(text, str))


def test_a_change_of_pages_alone_runs_each_test_that_reads_pages() -> None:
    chosen = page_tests()
    assert all(path.exists() for path in chosen)
    readers = [path for path in (ROOT / "tests").rglob("test_*.py") if reads_pages(path)]
    assert len(readers) > 5
    missing = [path for path in readers if not any(path.is_relative_to(one) for one in chosen)]
    assert missing == []


def test_each_file_of_the_documentation_counts_as_documentation() -> None:
    checks = (ROOT / ".github" / "workflows" / "checks.yml").read_text()
    pattern = re.search(r"grep -qvE '(.*)'", checks)
    assert pattern is not None
    folders = ("docs/**/*", "changes/*", "benchmarks/results/*", "*.md")
    files = [path.relative_to(ROOT).as_posix() for folder in folders for path in ROOT.glob(folder) if path.is_file()]
    code = [name for name in files if not re.match(pattern[1], name) and "__pycache__" not in name]
    assert [name for name in code if not name.endswith((".py", ".js"))] == []
