"""Merging of adjacent Python operators (PyFlink: `PythonOperatorChainingOptimizer`), and the alignment before it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.graph.partitioner import FORWARD
from firesteel.graph.transformations import (
    IdGenerator,
    KeyByTransformation,
    OperatorTransformation,
    PartitionTransformation,
    PythonOperatorKind,
    SinkTransformation,
    Transformation,
    UnionTransformation,
    ValuesTransformation,
)

Combine = Callable[[OperatorTransformation, OperatorTransformation], Any]
_Consumers = dict[int, list[Transformation]]

_UPSTREAM_KINDS = frozenset(PythonOperatorKind) - {PythonOperatorKind.BROADCAST}


def copy_transformations(transformations: Sequence[Transformation]) -> list[Transformation]:
    """Return copies of transformations, so that passes may change them; operators and types are shared."""
    copies: dict[int, Transformation] = {}
    pending = list(transformations)
    while pending:
        current = pending.pop()
        if id(current) not in copies:
            copies[id(current)] = copy.copy(current)
            pending.extend(current.inputs)
    for one in copies.values():
        one.inputs = [copies[id(source)] for source in one.inputs]
    return [copies[id(one)] for one in transformations]


def align_hidden_operators(transformations: Sequence[Transformation], ids: IdGenerator) -> None:
    """Give hidden operators the parallelism of their neighbour and connect both forward (PyFlink: `PythonConfigUtil`).

    The hidden operator of `key_by` is aligned with its input. The one that removes keys is aligned with the last
    operator that reads it. If other readers have another parallelism PyFlink fails; here they get the default
    partitioner.
    """
    readers: list[tuple[PartitionTransformation, Transformation]] = []
    for transformation in transformations:
        if not transformation.inputs:
            continue
        source = transformation.inputs[0]
        if isinstance(source, ValuesTransformation):
            _align_with(source, transformation)
            forward = transformation.inputs[0] = _forward(source, ids)
            readers.append((forward, transformation))
        if isinstance(transformation, KeyByTransformation):
            _align_with(transformation, source)
            transformation.inputs[0] = _forward(source, ids)
    for forward, reader in readers:
        # PyFlink reconnects sinks, too, but Flink ignores that.
        if isinstance(reader, SinkTransformation) or reader.parallelism != forward.inputs[0].parallelism:
            forward.partitioner = None


def _align_with(hidden: Transformation, neighbour: Transformation) -> None:
    hidden.parallelism = neighbour.parallelism
    hidden.parallelism_configured = False
    hidden.slot_sharing_group = neighbour.slot_sharing_group or hidden.slot_sharing_group


def _forward(source: Transformation, ids: IdGenerator) -> PartitionTransformation:
    return PartitionTransformation(
        id=ids.next(), name="Partition", inputs=[source], parallelism=source.parallelism, partitioner=FORWARD
    )


def _consumers(transformations: Sequence[Transformation]) -> dict[int, list[Transformation]]:
    consumers: dict[int, list[Transformation]] = {}
    seen: set[int] = set()
    pending = list(reversed(transformations))
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for source in current.inputs:
            consumers.setdefault(id(source), []).append(current)
            pending.append(source)
    return consumers


def merge_python_operators(
    transformations: Sequence[Transformation],
    ids: IdGenerator,
    combine: Combine,
    needs: Callable[[str | None], object],
    keep: Transformation | None = None,
) -> tuple[list[Transformation], Transformation | None]:
    """Return the list with adjacent Python operators merged, each pair under a new id; inputs are rewired in place.

    Args:
        transformations: The transformations of the program.
        ids: Numbers the merged operators.
        combine: Returns the descriptor of two merged operators.
        needs: Returns the resources of a slot sharing group. PyFlink treats groups with equal resources as equal here,
            and puts the merged operator into the group of the first.
        keep: A transformation with a consumer that is not listed; nothing after it is merged with it.

    Returns:
        The new list, and what replaced `keep`.
    """
    consumers = _consumers(transformations)
    result: dict[int, Transformation] = {}
    for transformation in transformations:
        upstream = _mergeable_upstream(transformation, consumers, needs)
        if upstream is None or upstream is keep:
            result[id(transformation)] = transformation
            continue
        assert isinstance(transformation, OperatorTransformation)
        merged = _merge(upstream, transformation, ids.next(), combine)
        for consumer in consumers.get(id(transformation), []):
            _replace_input(consumer, transformation, merged)
        consumers[id(merged)] = consumers.get(id(transformation), [])
        for source in merged.inputs:
            consumers[id(source)] = [merged if c is upstream else c for c in consumers[id(source)]]
        keep = merged if transformation is keep else keep
        result.pop(id(upstream), None)
        result[id(merged)] = merged
    return list(result.values()), keep


def _replace_input(consumer: Transformation, old: Transformation, new: Transformation) -> None:
    if isinstance(consumer, UnionTransformation):  # PyFlink puts the merged operator last
        consumer.inputs.remove(old)
        consumer.inputs.append(new)
    else:
        consumer.inputs = [new if source is old else source for source in consumer.inputs]


def _mergeable_upstream(
    downstream: Transformation, consumers: _Consumers, needs: Callable[[str | None], object]
) -> OperatorTransformation | None:
    if not isinstance(downstream, OperatorTransformation) or downstream.python_kind is not PythonOperatorKind.PROCESS:
        return None
    upstream = downstream.inputs[0]
    while isinstance(upstream, PartitionTransformation):
        if upstream.partitioner is None or upstream.partitioner.name != "FORWARD" or len(consumers[id(upstream)]) != 1:
            return None
        upstream = upstream.inputs[0]
    if not isinstance(upstream, OperatorTransformation) or upstream.python_kind not in _UPSTREAM_KINDS:
        return None
    may_merge = (
        upstream.parallelism == downstream.parallelism
        and upstream.max_parallelism == downstream.max_parallelism
        and needs(upstream.slot_sharing_group) == needs(downstream.slot_sharing_group)
        and len(consumers[id(upstream)]) == 1
        and downstream.chaining_strategy == "ALWAYS"
        and upstream.chaining_strategy != "NEVER"
    )
    return upstream if may_merge else None


def _merge(
    upstream: OperatorTransformation, downstream: OperatorTransformation, new_id: int, combine: Combine
) -> OperatorTransformation:
    merged = copy.copy(upstream)
    merged.__class__ = OperatorTransformation
    merged.id = new_id
    merged.name = f"{upstream.name}, {downstream.name}"
    merged.output_type = downstream.output_type
    merged.operator = combine(upstream, downstream)
    merged.parallelism_configured = False  # as in PyFlink's constructor calls
    timeouts = [-1 if timeout is None else timeout for timeout in (upstream.buffer_timeout, downstream.buffer_timeout)]
    merged.buffer_timeout = None if min(timeouts) < 0 else min(timeouts)
    descriptions = [text for text in (upstream.description, downstream.description) if text is not None]
    merged.description = ", ".join(descriptions) or None
    return merged
