"""Tracking of PyFlink's names through a file."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from firesteel.common.java_objects import java_advice
from firesteel.compat.missing import MissingModule, MissingName
from firesteel.migration.advice import difference_of, elsewhere_advice, refusal_advice
from firesteel.migration.findings import Finding, Kind, Report
from firesteel.migration.jars import jars_of
from firesteel.migration.static_values import Instance, Known, Static, attribute_of, lacks, refusal_of, result_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


class FileCheck(ast.NodeVisitor):
    """Collects the findings of a file.

    Statements are visited in order. Bodies of functions come last, when all names of the file are known. Functions that
    nothing refers to are skipped.

    Attributes:
        other_imports: Imported modules that are not part of PyFlink.
    """

    def __init__(self, path: Path, report: Report) -> None:
        self.other_imports: list[str] = []
        self._path = path
        self._report = report
        self._scope: dict[str, Static] = {}
        self._waiting: list[tuple[_Function, dict[str, Static]]] = []
        self._imported: dict[str, tuple[int, Known]] = {}
        self._used: set[str] = set()
        self._referred: set[str] = set()
        self._is_guarded = False
        self._is_in_lambda = False

    def visit_file(self, tree: ast.Module) -> None:
        """Check the whole file."""
        self._referred = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self._referred |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        self.visit(tree)
        while self._waiting:
            self._visit_body(*self._waiting.pop(0))
        for name, (line, known) in self._imported.items():
            if name not in self._used and isinstance(known.value, (MissingName, MissingModule)):
                self._find(Kind.UNUSED, line, known.name, "nothing to do, as long as it is not used")

    def _find(self, kind: Kind, line: int, name: str, advice: str) -> None:
        self._report.findings.add(Finding(self._path, line, name, kind, advice, self._is_in_lambda))

    # --- imports -----------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:  # noqa: D102
        for alias in node.names:
            if not _is_pyflink(alias.name):
                self.other_imports.append(alias.name)
            elif self._module(alias.name, node.lineno) is not None:
                bound = alias.asname or "pyflink"
                self._bind(
                    bound, Known(importlib.import_module(alias.name if alias.asname else "pyflink"), alias.name), node
                )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: D102
        name = node.module or ""
        if node.level or not _is_pyflink(name):
            self.other_imports += [name, *(f"{name}.{alias.name}".strip(".") for alias in node.names)]
        elif (module := self._module(name, node.lineno)) is not None:
            for alias in node.names:
                self._import_name(module, name, alias, node)

    def _import_name(self, module: object, name: str, alias: ast.alias, node: ast.ImportFrom) -> None:
        if alias.name == "*":
            for public in getattr(module, "__all__", ()):
                self._bind(public, Known(getattr(module, public), public), node)
            return
        found = getattr(module, alias.name, None)
        if found is None:
            found = self._submodule(f"{name}.{alias.name}")
        if found is not None:
            shown = f"{name}.{alias.name}" if isinstance(found, (MissingName, MissingModule)) else alias.name
            self._bind(alias.asname or alias.name, Known(found, shown), node)
        elif not self._is_guarded:
            advice = elsewhere_advice(alias.name) or "PyFlink 2.3 has no such name either"
            self._find(Kind.BROKEN, node.lineno, f"{name}.{alias.name}", advice)

    def _module(self, name: str, line: int) -> object:
        found = self._submodule(name)
        if found is None and not self._is_guarded:
            self._find(Kind.BROKEN, line, name, "PyFlink 2.3 has no such module either")
        return found

    def _submodule(self, name: str) -> object:
        try:
            return importlib.import_module(name)
        except ImportError:
            return None

    def _bind(self, name: str, known: Known, node: ast.stmt) -> None:
        self._scope[name] = known
        self._imported.setdefault(name, (node.lineno, known))

    def visit_Try(self, node: ast.Try) -> None:  # noqa: D102
        before = self._is_guarded
        self._is_guarded |= any(_catches_import_error(handler) for handler in node.handlers)
        for statement in node.body:
            self.visit(statement)
        self._is_guarded = before
        for rest in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(rest)

    # --- names -------------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:  # noqa: D102
        if isinstance(node.ctx, ast.Load):
            self._used.add(node.id)
            self._see(self._scope.get(node.id), node)

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: D102
        advice = java_advice(node.attr)
        if advice is not None and isinstance(node.ctx, ast.Load):
            self._find(Kind.MISSING, node.lineno, node.attr, advice)
        self.visit(node.value)
        base = self._value(node.value)
        if not (isinstance(base, Known) and isinstance(base.value, MissingName)):
            self._see(attribute_of(base, node.attr), node)
        if advice is None and isinstance(base, Known) and lacks(base, node.attr):
            self._lacking(base.name, node)

    def visit_Call(self, node: ast.Call) -> None:  # noqa: D102
        if isinstance(node.func, ast.Attribute):
            base = self._value(node.func.value)
            if isinstance(base, Instance) and lacks(base, node.func.attr) and java_advice(node.func.attr) is None:
                self._lacking(base.cls.__name__, node.func)
        for name, advice in jars_of(node):
            self._find(Kind.DIFFERS, node.lineno, name, advice)
        self.generic_visit(node)

    def _lacking(self, owner: str, node: ast.Attribute) -> None:
        self._find(Kind.BROKEN, node.lineno, f"{owner}.{node.attr}", "PyFlink 2.3 has no such name either")

    def _see(self, value: Static, node: ast.expr) -> None:
        """Record the use of a name of PyFlink."""
        if not isinstance(value, Known) or isinstance(value.value, MissingModule):
            return
        refused = refusal_of(value)
        if isinstance(value.value, MissingName):
            self._find(Kind.MISSING, node.lineno, value.value.name, value.value.advice)
        elif refused is not None:
            self._find(Kind.MISSING, node.lineno, value.name, refusal_advice(refused))
        elif (difference := difference_of(value.name, value.value)) is not None:
            self._find(Kind.DIFFERS, node.lineno, value.name, difference)
        elif isinstance(value.value, type) or callable(value.value):
            self._report.works.add(value.name)

    def _value(self, node: ast.expr) -> Static:
        if isinstance(node, ast.Name):
            return self._scope.get(node.id)
        if isinstance(node, ast.Attribute):
            return attribute_of(self._value(node.value), node.attr)
        return result_of(self._value(node.func)) if isinstance(node, ast.Call) else None

    # --- bindings ----------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: D102
        self.visit(node.value)
        value = self._value(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: D102
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, self._value(node.value))

    def _assign(self, target: ast.expr, value: Static) -> None:
        if isinstance(target, ast.Name):
            self._scope[target.id] = value
            return
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                self._scope[name.id] = None
        self.visit(target)

    def visit_For(self, node: ast.For) -> None:  # noqa: D102
        self._assign(node.target, None)
        self.generic_visit(node)

    def visit_withitem(self, node: ast.withitem) -> None:  # noqa: D102
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, None)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # noqa: D102
        self._scope[node.name] = None
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:  # noqa: D102
        self._scope[node.name] = None
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        if node.name in self._referred or node.col_offset or node.decorator_list:
            self._waiting.append((node, self._scope))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:  # noqa: D102
        self._waiting.append((node, self._scope))

    def _visit_body(self, node: _Function, outer: dict[str, Static]) -> None:
        arguments = node.args
        self._is_in_lambda = isinstance(node, ast.Lambda)
        self._scope = dict(outer)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._scope[argument.arg] = self._of_annotation(argument.annotation)
        for argument in filter(None, (arguments.vararg, arguments.kwarg)):
            self._scope[argument.arg] = None
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)

    def _of_annotation(self, annotation: ast.expr | None) -> Static:
        if isinstance(annotation, ast.Subscript):  # DataStream[int]
            annotation = annotation.value
        declared = self._value(annotation) if annotation is not None else None
        return result_of(declared) if isinstance(declared, Known) and isinstance(declared.value, type) else None


def _is_pyflink(name: str) -> bool:
    return name.split(".")[0] == "pyflink"


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = set() if handler.type is None else {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)}
    return handler.type is None or bool(caught & _IMPORT_ERRORS)
