from __future__ import annotations

import ast
import functools
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "firesteel"

# The allowed imports between packages, as drawn in DESIGN.md; `errors` is open to all. Operators and slot processes
# read the JobGraph's description of the chain that they run, and the command line shows what the runtime tells of a
# job: plain data in both cases.
ALLOWED = {
    "common": set(),
    "metrics": set(),
    "columns": {"common"},
    "connectors": {"common", "columns", "graph", "functions", "client", "state_processor"},
    "table": {
        "common",
        "columns",
        "connectors",
        "datastream",
        "functions",
        "graph",
        "client",
    },
    "graph": {"common"},
    "functions": {"common", "metrics", "graph"},
    "datastream": {"common", "metrics", "graph", "functions", "connectors"},
    "cep": {"common", "graph", "functions", "datastream"},
    "operators": {"common", "columns", "metrics", "graph", "functions"},
    "task": {"common", "metrics", "graph", "functions", "operators"},
    "runtime": {"common", "graph"},
    "coordinator": {"common", "graph", "functions", "operators", "task", "runtime"},
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
    "compat": {"common", "datastream", "graph", "metrics", "pyflink1", "table"},
    "notebook": {"common", "client", "runtime", "table"},
    "migration": {"common", "compat", "datastream", "functions", "graph", "pyflink1", "runtime", "table"},
    "pyflink1": {"common", "columns", "datastream", "functions", "connectors", "table"},
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
    "cep": {"asyncio", "pyspark", "pyarrow"},
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
NAMES_IN_PICKLES = {"common/encoding/record_classes.py", "task/moved_modules.py", "task/state_types.py"}
"""Tables of classes that state may refer to; who reads state has loaded them, or loads them by their names."""


def _imports(path: Path) -> list[str]:
    """Return the imported modules, also those that a function imports; TYPE_CHECKING blocks do not count."""
    return _named_modules(path)[0]


@functools.cache  # Three tests look at each module.
def _named_modules(path: Path) -> tuple[list[str], set[str]]:
    """Return the modules that a module imports, and those whose names it has as texts."""
    tree = ast.parse(path.read_text())
    found: list[str] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            is_package = (
                SOURCE.parent / node.module.replace(".", "/")
            ).is_dir()  # then modules may be imported from it
            names = [f"{node.module}.{alias.name}" for alias in node.names] if is_package else [node.module]
            found.extend(names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return found, {node.value for node in ast.walk(tree) if _is_module(node)}


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_the_design_allows(package: str) -> None:
    wrong = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        for module in _imports(path):
            if not module.startswith("firesteel."):
                continue
            part = module.split(".")[1]
            fine = part in (package, "errors") or part in ALLOWED[package]
            if not fine:
                wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert wrong == []


PASSES = ("parse", "resolve", "traits", "rules", "translate")
"""The rooms of the planner: each reads those before it, and all read the nodes (`rel`)."""


@pytest.mark.parametrize("room", ["rel", *PASSES])
def test_passes_of_the_planner_import_earlier_ones_only(room: str) -> None:
    earlier = {room, "rel", "nesting", *(PASSES[: PASSES.index(room)] if room in PASSES else ())}
    paths = sorted((SOURCE / "table" / "planner" / room).rglob("*.py"))
    named = [(path, module.split(".")) for path in paths for module in _imports(path)]
    assert paths
    wrong = [
        f"{path.name} imports {'.'.join(parts)}"
        for path, parts in named
        if parts[:3] == ["firesteel", "table", "planner"] and len(parts) > 3 and parts[3] not in earlier
    ]
    assert wrong == []


ABOVE = {"execution": {"environment"}, "environment": set()}
"""The rooms of `table` that run statements, and those above them; all others are below both."""


def test_what_statements_are_made_of_does_not_run_them() -> None:
    table = SOURCE / "table"
    paths = [path for path in table.rglob("*.py") if len(path.relative_to(table).parts) > 1]
    wrong = [
        f"{path.relative_to(table)} imports {module}"
        for path in paths
        for module in _imports(path)
        if module.startswith("firesteel.table.")
        and module.split(".")[2] in ABOVE.get(path.relative_to(table).parts[0], ABOVE.keys())
    ]
    assert wrong == []


KERNELS = {
    "rows": set(),
    "times": {"rows"},
    "ranks": {"rows", "times"},
    "calls": {"rows", "ranks"},
    "groups": {"rows", "calls"},
    "windows": {"rows", "times", "calls", "groups"},
    "over": {"rows", "times", "ranks", "calls", "groups"},
    "joins": {"rows", "times"},
    "match": {"rows", "times", "calls"},
}
"""The rooms of kernels, and those that each imports. Modules beside the rooms import all, and no room imports them."""


def test_rooms_of_kernels_import_what_is_below_them() -> None:
    kernels = SOURCE / "columns" / "kernels"
    assert {path.parent.name for path in kernels.glob("*/__init__.py")} == KERNELS.keys()
    wrong = [
        f"{path.relative_to(kernels)} imports {module}"
        for room, below in KERNELS.items()
        for path in sorted((kernels / room).rglob("*.py"))
        for module in _imports(path)
        if module.startswith("firesteel.columns.kernels.") and module.split(".")[3] not in {room, *below}
    ]
    assert wrong == []


def test_what_kernels_are_made_of_imports_no_kernel() -> None:
    paths = [path for path in (SOURCE / "columns").rglob("*.py") if "kernels" not in path.parts]
    assert [path.name for path in paths if any("columns.kernels" in module for module in _imports(path))] == []


@pytest.mark.parametrize("package", sorted(FORBIDDEN_LIBRARIES))
def test_packages_do_not_import_heavy_libraries(package: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for module in _imports(path)
        if module.split(".")[0] in FORBIDDEN_LIBRARIES[package]
    ]
    assert wrong == []


def _is_module(node: ast.AST) -> TypeGuard[ast.Constant]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or " " in node.value:
        return False
    # Also the module of an entry point, `module:name`, and a package.
    place = SOURCE.parent / node.value.partition(":")[0].replace(".", "/")
    return node.value.startswith("firesteel.") and (place.with_suffix(".py").exists() or place.is_dir())


def _may_load(path: Path) -> set[str]:
    """Return the modules that a module may load: those that it imports, also late, or names as text to import or run.

    An import of a module also loads the packages around it.
    """
    found = set(_imports(path))
    if path.relative_to(SOURCE).as_posix() not in NAMES_IN_PICKLES:
        found |= _named_modules(path)[1]
    return {".".join(parts[:i]) for module in found for parts in [module.split(".")] for i in range(1, len(parts) + 1)}


@pytest.mark.slow
def test_modules_form_no_cycle() -> None:
    names = {path: ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in SOURCE.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for path, name in names.items()}
    arrows = {
        name: {other for other in _may_load(path) & modules.keys() if not f"{name}.".startswith(f"{other}.")}
        for name, path in modules.items()
    }
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


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
