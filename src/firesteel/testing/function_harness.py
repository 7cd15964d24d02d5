"""Harnesses of functions, for tests that do not name operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar, Unpack

from firesteel.common.checks import require_function, with_article, with_class
from firesteel.common.typeinfo import TypeInformation
from firesteel.functions.function_base import Function
from firesteel.functions.operator_descriptors import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    FilterOperator,
    FlatMapOperator,
    KeyedProcessOperator,
    MapOperator,
    OperatorDescriptor,
    ProcessOperator,
    ReduceOperator,
)
from firesteel.functions.user_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from firesteel.testing.operator_harness import OperatorHarness

__all__ = ["HarnessOptions", "Key", "harness", "keyed_harness"]

T = TypeVar("T")

_Select = Callable[[Any], object]
Key = _Select | KeySelector[Any, object]
"""A key selector."""

_Type = TypeInformation[Any] | None


class HarnessOptions(TypedDict, total=False):
    """Further arguments of `OperatorHarness`."""

    output_type: _Type
    is_batch: bool
    subtask_index: int
    parallelism: int
    max_parallelism: int
    configuration: dict[str, str] | None
    snapshot: bytes | None


_PLAIN: dict[type[Function], Callable[[Function], OperatorDescriptor]] = {
    MapFunction: MapOperator,
    FlatMapFunction: FlatMapOperator,
    FilterFunction: FilterOperator,
    ProcessFunction: ProcessOperator,
    CoMapFunction: CoMapOperator,
    CoFlatMapFunction: CoFlatMapOperator,
    CoProcessFunction: CoProcessOperator,
}
"""The operator of each kind of function on streams without keys."""

_KEYED: dict[type[Function], Callable[[Function, _Type], OperatorDescriptor]] = {
    KeyedProcessFunction: KeyedProcessOperator,
    KeyedCoProcessFunction: lambda function, key_type: CoProcessOperator(function, True, key_type),
    ReduceFunction: lambda function, key_type: ReduceOperator(function, None, key_type),
    MapFunction: lambda function, _: MapOperator(function, keyed=True),
    FlatMapFunction: lambda function, _: FlatMapOperator(function, keyed=True),
    FilterFunction: lambda function, _: FilterOperator(function, keyed=True),
    CoMapFunction: lambda function, _: CoMapOperator(function, keyed=True),
    CoFlatMapFunction: lambda function, _: CoFlatMapOperator(function, keyed=True),
}
"""The operator of each kind of function on keyed streams."""


def harness(function: Function, **options: Unpack[HarnessOptions]) -> OperatorHarness:
    """Return a harness of a function on a stream without keys.

    Args:
        function: A `MapFunction`, `FlatMapFunction`, `FilterFunction` or `ProcessFunction`, or one of two inputs.
        options: Further arguments of `OperatorHarness`, such as `parallelism` or `snapshot`.

    Raises:
        TypeError: there is no harness of this kind of function.

    Example:
        >>> class Words(FlatMapFunction):
        ...     def flat_map(self, value):
        ...         return value.split()
        >>> with harness(Words()) as words:
        ...     words.process("to be")
        ...     words.values
        ['to', 'be']
    """
    return OperatorHarness(_of_kind(_PLAIN, function, "keyed_harness(function, key)")(function), **options)


def keyed_harness(
    function: Function,
    key: Key,
    key2: Key | None = None,
    *,
    key_type: _Type = None,
    **options: Unpack[HarnessOptions],
) -> OperatorHarness:
    """Return a harness of a function on a keyed stream, with state and timers.

    Args:
        function: A `KeyedProcessFunction`, `KeyedCoProcessFunction` or `ReduceFunction`, or a function that
            `harness` takes and that uses keyed state.
        key: The key selector of the (first) input.
        key2: The key selector of the second input; None if it is the same.
        key_type: The declared type of keys.
        options: Further arguments of `OperatorHarness`, such as `parallelism` or `snapshot`.

    Raises:
        TypeError: there is no harness of this kind of function, or the key is no key selector.

    Example:
        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         ctx.timer_service().register_event_time_timer(1000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), self.count.value()
        >>> with keyed_harness(Count(), key=str.lower) as counts:
        ...     for word in ("To", "be", "to"):
        ...         counts.process(word, timestamp=0)
        ...     counts.watermark(1000)
        ...     sorted(counts.values)
        [('be', 1), ('to', 2)]
    """
    descriptor = _of_kind(_KEYED, function, "harness(function)")(function, key_type)
    selectors = [_selector(one) for one in (key, key2 or key)]
    return OperatorHarness(descriptor, key_selectors=selectors, **options)


def _selector(key: Key) -> _Select:
    require_function(key, KeySelector, "key")
    return key.get_key if isinstance(key, KeySelector) else key


def _of_kind(kinds: Mapping[type[Function], T], function: Function, others: str) -> T:
    """Return what makes the operator of a function.

    Args:
        kinds: What there is.
        function: The function.
        others: The call that makes the harness of the other kinds.

    Raises:
        TypeError: there is none; the message says how to test the function.
    """
    for kind, make in kinds.items():
        if isinstance(function, kind):
            return make
    if isinstance(function, type) and issubclass(function, Function):
        raise TypeError(f"a harness takes a function, found the class {function.__name__}: write {function.__name__}()")
    if not isinstance(function, Function):
        if callable(function):
            raise TypeError(
                "a harness cannot know the operator of a plain function: name it, as in "
                "OperatorHarness(MapOperator(function)); firesteel.functions.operator_descriptors has the others"
            )
        names = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"a harness takes one of {names}; found {with_class(function)}")
    base = next(one for one in type(function).__mro__ if one.__module__.startswith("firesteel."))
    how = (
        others
        if isinstance(function, (*_PLAIN, *_KEYED))
        else "run_local() with a whole job, or OperatorHarness with the descriptor of an operator"
    )
    raise TypeError(f"{type(function).__name__} is {with_article(base)}, which has no harness of this kind: use {how}")
