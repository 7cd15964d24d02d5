"""The examples in docstrings run and print what they show, and each public class has one."""

from __future__ import annotations

import ast
import doctest
import enum
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import firesteel
from docs.generate.hooks import ROOT
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.testing import run_local

SOURCE = Path(firesteel.__file__).parent
PUBLIC_PACKAGES = (
    "cep",
    "client",
    "metrics",
    "state_processor",
    "testing",
    "table",
    "table.catalog",
    "table.connector",
    "table.expressions",
    "table.udf",
    "table.window",
    "datastream.connectors.base",
    "datastream.connectors.dynamic_kafka",
    "datastream.connectors.elasticsearch",
    "datastream.connectors.file_system",
    "datastream.connectors.jdbc",
    "datastream.connectors.kafka",
    "datastream.connectors.hybrid_source",
    "datastream.connectors.kinesis",
    "datastream.connectors.number_seq",
    "datastream.formats.avro",
    "datastream.formats.csv",
    "datastream.formats.json",
    "datastream.formats.orc",
    "datastream.formats.parquet",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream",
    "common",
)
"""Packages and modules whose names examples use without importing them, as docs/api/index.md says."""

NEEDS_SPARK = {
    "firesteel.client.execution.collect",
    "firesteel.client.execution.execute",
    "firesteel.client.execution.execute_async",
    "firesteel.client.job_client.EmbeddedJobClient",
    "firesteel.common.job_client.JobClient",
    "firesteel.functions.closeable_iterator.CloseableIterator",
    "firesteel.datastream.stream_execution_environment.StreamExecutionEnvironment",
    "firesteel.datastream.streams.stream_sinks.StreamSinks.execute_and_collect",
    "firesteel.table.environment.environment_sources.SourceMethods.from_spark",
}
"""Examples that start a JVM. Any other example that starts a process fails."""


CHANGES_THE_PROCESS = {
    "firesteel.compat.alias.alias_pyflink",
    "firesteel.table.environment.environment_sources.SourceMethods.from_spark",
}
"""Examples that patch modules or leave a SparkSession behind, so that each runs in a process of its own."""


class Example(NamedTuple):
    """A docstring with an example."""

    module: str
    name: str
    line: int
    text: str


@cache
def examples() -> list[Example]:
    """Return all docstrings of the package that contain an example."""
    found: list[Example] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if ">>> " in text:
            module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
            found += examples_below(ast.parse(text), module, module)
    return found


def examples_below(node: ast.AST, module: str, name: str) -> Iterator[Example]:
    """Yield the docstrings with examples of a module, class or function, and of all that it contains."""
    body = getattr(node, "body", [])
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        text = body[0].value.value
        if isinstance(text, str) and ">>> " in text:
            yield Example(module, name, body[0].lineno, text)
    for child in body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from examples_below(child, module, f"{name}.{child.name}")


def parameters(in_own_process: bool) -> list[Any]:
    """Return examples as parameters of a test; those that start a JVM are marked."""
    return [
        pytest.param(example, id=example.name, marks=[pytest.mark.spark] if example.name in NEEDS_SPARK else [])
        for example in examples()
        if (example.name in CHANGES_THE_PROCESS) is in_own_process
    ]


@cache
def public_names(package: str) -> dict[str, Any]:
    """Return what `from package import *` would import."""
    module = importlib.import_module(f"firesteel.{package}")
    return {name: getattr(module, name) for name in module.__all__}


def names_for(example: Example) -> dict[str, Any]:
    """Return the names that an example may use: public names, names of its module, and an environment."""
    own = example.module.split(".")[1]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    names: dict[str, Any] = {"env": env, "run_local": run_local}
    for package in PUBLIC_PACKAGES:
        names |= public_names(package)
    names |= vars(importlib.import_module(example.module))
    for package in PUBLIC_PACKAGES:  # a program sees these, and not what a module imports under the same name
        if package.split(".")[0] == own:
            names |= public_names(package)
    return names


def report_of(example: Example) -> str:
    """Run an example and return what went wrong, if anything."""
    source = SOURCE / Path(*example.module.split(".")[1:])
    test = doctest.DocTestParser().get_doctest(
        example.text, names_for(example), example.name, str(source.with_suffix(".py")), example.line - 1
    )
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("example", parameters(in_own_process=False))
def test_examples_run(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if example.name not in NEEDS_SPARK:
        monkeypatch.setattr(subprocess.Popen, "__init__", refuse_process)
    monkeypatch.chdir(tmp_path)
    report = report_of(example)
    assert not report, report


@pytest.mark.slow
@pytest.mark.parametrize("example", parameters(in_own_process=True))
def test_examples_run_in_their_own_process(example: Example) -> None:
    program = (
        "from tests.docs.test_doc_examples import examples, report_of\n"
        f"[example] = [example for example in examples() if example.name == {example.name!r}]\n"
        "raise SystemExit(report_of(example) or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def refuse_process(*_: object, **__: object) -> None:
    raise AssertionError("this example starts a process: name it in NEEDS_SPARK")


def test_the_named_examples_exist() -> None:
    assert {example.name for example in examples()} >= NEEDS_SPARK | CHANGES_THE_PROCESS


# --- coverage ------------------------------------------------------------------------------------------------------


def public_classes() -> dict[str, type]:
    """Return the classes of the API reference by name; `test_pages` checks that the reference is complete."""
    reference = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    found = {}
    for name in re.findall(r"^::: ([\w.]+)$", reference, re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        if inspect.isclass(value) and value.__module__.startswith("firesteel"):
            found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def needs_example(public: type) -> bool:
    """Return whether a class needs an example: exceptions and enumerations do not."""
    return not issubclass(public, BaseException | enum.Enum)


def has_example(public: type) -> bool:
    """Return whether the docstring of a class, or of a public method that it defines, has an example."""
    documented = [public, *(value for name, value in vars(public).items() if not name.startswith("_"))]
    return any(">>> " in (getattr(value, "__doc__", None) or "") for value in documented)


def test_each_public_class_has_an_example() -> None:
    classes = public_classes()
    assert len(classes) > 250
    assert [name for name, public in classes.items() if needs_example(public) and not has_example(public)] == []
