"""Warnings of functions that must return a value and have no `return`, such as `def upper(line): line.upper()`.

They are told from their source when the job is submitted, so that no record costs anything. A lambda, a generator and a
function that says `return None` are meant so.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from firesteel.common.our_code import OUR_CODE
from firesteel.functions import operator_descriptors as op

if TYPE_CHECKING:
    from firesteel.graph.stream_node import StreamNode

__all__ = ["warn_of_missing_returns", "warn_unless_it_returns"]

MUST_RETURN: dict[type[op.OperatorDescriptor], dict[str, tuple[str, ...]]] = {
    op.MapOperator: {"function": ("map",)},
    op.FilterOperator: {"function": ("filter",)},
    op.ExtractTimestampOperator: {"timestamp_assigner": ("extract_timestamp",)},
    op.KeyByOperator: {"key_selector": ("get_key",)},
    op.TagAndKeyByOperator: {"key_selector": ("get_key",)},
    op.PartitionCustomOperator: {"partitioner": ("partition",), "key_selector": ("get_key",)},
    op.ReduceOperator: {"function": ("reduce",)},
    op.WindowOperator: {"aggregation": ("reduce", "create_accumulator", "add", "get_result")},
    op.CoMapOperator: {"function": ("map1", "map2")},
}
"""Fields with functions, and those of their methods whose result is always used.

Windows that do not merge never call `merge`, which many programs leave empty.
"""

MAY_RETURN_NOTHING: dict[type[op.OperatorDescriptor], str] = {
    op.FlatMapOperator: "no results",
    op.ProcessOperator: "no results",
    op.KeyedProcessOperator: "no results",
    op.CoFlatMapOperator: "no results",
    op.CoProcessOperator: "no results",
    op.BroadcastProcessOperator: "no results",
    op.IntervalJoinOperator: "no results",
    op.CepOperator: "no results",
    op.AsyncWaitOperator: "refused with the first element",
    op.BatchOperator: "refused with the first batch",
    op.SourceFunctionOperator: "no elements",
    op.SinkFunctionOperator: "a sink has no results",
}
"""The other operators with functions of users, and what a function without `return` means there."""


def warn_of_missing_returns(nodes: Iterable[StreamNode]) -> None:
    """Warn once of each function of a job that must return a value and has no `return`.

    Args:
        nodes: The operators of the job. A `map` whose results nobody reads is one for its effects.
    """
    told: set[CodeType] = set()
    for node in nodes:
        *first, last = _parts(node)
        is_for_its_effects = not node.out_edges and isinstance(last[1], op.MapOperator | op.CoMapOperator)
        for name, operator in first if is_for_its_effects else [*first, last]:
            for function in _functions(operator):
                if function.__code__ not in told:
                    told.add(function.__code__)
                    user = f"{name} at {node.user_location}" if node.user_location else name
                    _warn_unless_it_returns(function, f"so {user} gets None for each record")


def _parts(node: StreamNode) -> list[tuple[str, op.OperatorDescriptor]]:
    merged = node.operator
    if isinstance(merged, op.MergedOperator):
        return list(zip(merged.names, merged.operators, strict=True))
    return [(node.name, node.operator)]


def warn_unless_it_returns(function: object, consequence: str) -> None:
    """Warn if a function, which may be of any kind, has no `return`."""
    if (plain := _plain(function)) is not None:
        _warn_unless_it_returns(plain, consequence)


def _functions(operator: op.OperatorDescriptor) -> Iterator[FunctionType]:
    for field, methods in MUST_RETURN.get(type(operator), {}).items():
        given = getattr(operator, field)
        found = [getattr(given, method, None) for method in methods]
        yield from filter(None, map(_plain, found if any(found) else [given]))


def _plain(function: object) -> FunctionType | None:
    """Return a function without what binds its arguments, None if it is no function written in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return function if isinstance(function, FunctionType) else None


def _warn_unless_it_returns(function: FunctionType, consequence: str) -> None:
    """Warn at the line where the function begins, in the form of a compiler's note."""
    if _ends_without_value(function):
        text = f"{function.__qualname__}() has no 'return', {consequence}"
        warnings.warn_explicit(text, UserWarning, function.__code__.co_filename, function.__code__.co_firstlineno)


def _ends_without_value(function: FunctionType) -> bool:
    """Return whether a function reaches its end, and nothing in it returns a value or yields one."""
    is_plain = not inspect.isgeneratorfunction(function) and not inspect.iscoroutinefunction(function)
    if not is_plain or function.__code__.co_filename.startswith(OUR_CODE):
        return False
    if not any(instruction.opname.startswith("RETURN_") for instruction in dis.get_instructions(function)):
        return False  # It always raises, or never ends.
    try:
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(function.__code__))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    return isinstance(definition, ast.FunctionDef) and not any(map(_returns_a_value, _own_statements(definition)))


def _returns_a_value(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and node.value is not None


def _own_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, but for what belongs to a function or class in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own_statements(child)
