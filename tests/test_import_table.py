from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "firesteel"

# The allowed imports between packages, as drawn in DESIGN.md; `errors` is open to all. Operators and slot processes
# read the JobGraph's description of the chain that they run, and the command line shows what the runtime tells of a
# job: plain data in both cases.
ALLOWED = {
    "common": set(),
    "metrics": set(),
    "columns": {"common"},
    "connectors": {"common", "columns", "graph", "functions", "operators", "client"},
    "table": {
        "common",
        "columns",
        "connectors",
        "datastream",
        "functions",
        "graph",
        "client",
        "pyflink1",
        "compat",
    },
    "graph": {"common", "compat"},
    "functions": {"common", "metrics", "graph"},
    "datastream": {"common", "metrics", "graph", "functions", "connectors"},
    "operators": {"common", "columns", "metrics", "graph", "functions", "connectors"},
    "task": {"common", "metrics", "graph", "functions", "operators"},
    "runtime": {"common", "graph"},
    "coordinator": {"common", "graph", "operators", "task", "runtime"},
    "spark": {"common", "metrics", "graph", "functions", "operators", "task", "runtime", "coordinator"},
    "rest": {"common", "graph", "runtime"},
    "plan": {"common", "graph", "runtime", "datastream", "compat"},
    "entrypoint": {"common", "graph", "runtime", "task", "operators", "spark", "rest"},
    "client": {"common", "graph", "runtime", "spark", "rest", "entrypoint", "functions"},
    "gateway": {"common", "columns", "connectors", "runtime", "rest", "client", "table"},
    "cli": {
        "common",
        "graph",
        "runtime",
        "client",
        "compat",
        "entrypoint",
        "migration",
        "plan",
        "state_processor",
        "table",
        "datastream",
        "gateway",
    },
    "compat": set(),
    "migration": {"common", "compat", "datastream", "functions", "pyflink1"},
    "pyflink1": {"common", "datastream", "functions", "connectors"},
    "state_processor": {"common", "graph", "functions", "operators", "task", "runtime"},
    "testing": {
        "common",
        "metrics",
        "graph",
        "functions",
        "datastream",
        "connectors",
        "operators",
        "task",
        "coordinator",
    },
}
FORBIDDEN_LIBRARIES = {
    "common": {"asyncio", "pyspark", "pyarrow"},
    "graph": {"asyncio", "pyspark", "pyarrow"},
    "datastream": {"asyncio", "pyspark", "pyarrow"},
    "functions": {"asyncio", "pyspark", "pyarrow"},
    "columns": {"asyncio", "pyspark"},
    "table": {"asyncio", "pyspark"},
    "operators": {"pyspark"},
    "task": {"pyspark"},
    "runtime": {"pyspark", "pyarrow"},
    "coordinator": {"asyncio", "pyspark"},
    "rest": {"pyspark"},
    "gateway": {"pyspark", "pyarrow"},
    "plan": {"pyspark", "pyarrow"},
}
LATE_IMPORTS = {("datastream", "client")}


def _imports(path: Path) -> list[tuple[str, bool]]:
    """Return the imported modules, each with whether a function imports it; TYPE_CHECKING blocks do not count."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, late: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            is_package = (
                SOURCE.parent / node.module.replace(".", "/")
            ).is_dir()  # then modules may be imported from it
            names = [f"{node.module}.{alias.name}" for alias in node.names] if is_package else [node.module]
            found.extend((name, late) for name in names)
        late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, late)

    visit(ast.parse(path.read_text()), False)
    return found


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_the_design_allows(package: str) -> None:
    wrong = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        for module, late in _imports(path):
            if not module.startswith("firesteel."):
                continue
            part = module.split(".")[1]
            fine = part in (package, "errors") or part in ALLOWED[package] or (late and (package, part) in LATE_IMPORTS)
            if not fine:
                wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert wrong == []


@pytest.mark.parametrize("package", sorted(FORBIDDEN_LIBRARIES))
def test_packages_do_not_import_heavy_libraries(package: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for module, _ in _imports(path)
        if module.split(".")[0] in FORBIDDEN_LIBRARIES[package]
    ]
    assert wrong == []


@pytest.mark.slow
def test_modules_form_no_cycle() -> None:
    arrows: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(("firesteel", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        if path.name != "__init__.py":
            arrows[name] = {module for module, late in _imports(path) if not late}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name in done:
            return
        for target in arrows[name] & arrows.keys():
            visit(target, (*path, name))
        done.add(name)

    for name in arrows:
        visit(name, ())


def test_importing_the_api_loads_nothing_heavy() -> None:
    program = (
        "import sys, firesteel.datastream\n"
        "heavy = {'pyspark', 'asyncio', 'pyarrow', 'numpy', 'pandas', 'cloudpickle'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE.parent), "PATH": ""}
    )
    assert done.stdout.strip() == "[]"
