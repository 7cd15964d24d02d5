"""Translation of transformations to a StreamGraph (Flink: `StreamGraphGenerator`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.options.checkpointing_options import CHECKPOINTING_INTERVAL
from firesteel.common.options.execution_options import (
    BATCH_SHUFFLE_MODE,
    BUFFER_TIMEOUT_ENABLED,
    BUFFER_TIMEOUT_INTERVAL,
    RUNTIME_MODE,
)
from firesteel.common.options.pipeline_options import (
    AUTO_GENERATE_UIDS,
    CHAIN_DIFFERENT_MAX_PARALLELISM,
    MAX_PARALLELISM,
    OPERATOR_CHAINING,
    PIPELINE_NAME,
    VERTEX_DESCRIPTION_MODE,
    VERTEX_NAME_INDEX_PREFIX,
)
from firesteel.common.options.restart_options import SCHEDULER
from firesteel.errors import InvalidProgramError
from firesteel.graph.partitioner import FORWARD, Partitioner
from firesteel.graph.slot_resources import SlotResources
from firesteel.graph.stream_graph import StreamGraph
from firesteel.graph.stream_node import StreamNode
from firesteel.graph.transformations import (
    CacheTransformation,
    IdGenerator,
    OperatorTransformation,
    PartitionTransformation,
    PreCommitStep,
    PythonOperatorKind,
    SideOutputTransformation,
    SinkTransformation,
    Transformation,
    UnionTransformation,
)

_BATCH_EXCHANGES = {
    "ALL_EXCHANGES_BLOCKING": "ALL_EDGES_BLOCKING",
    "ALL_EXCHANGES_PIPELINED": "ALL_EDGES_PIPELINED",
    "ALL_EXCHANGES_HYBRID_FULL": "ALL_EDGES_HYBRID_FULL",
    "ALL_EXCHANGES_HYBRID_SELECTIVE": "ALL_EDGES_HYBRID_SELECTIVE",
}


@dataclass(frozen=True, slots=True)
class _Output:
    """The output of a node that a consumer connects to, through virtual partitions and side outputs."""

    node_id: int
    partitioner: Partitioner | None = None
    exchange_mode: str = "UNDEFINED"
    output_tag: str | None = None


def generate_stream_graph(
    transformations: Sequence[Transformation],
    configuration: Configuration,
    ids: IdGenerator,
    resources: Mapping[str, SlotResources] | None = None,
    job_name: str | None = None,
) -> StreamGraph:
    """Return the StreamGraph of transformations, including transformations that are reachable through inputs only.

    Args:
        transformations: The transformations of the program.
        configuration: Configuration of the job.
        ids: Numbers the transformations that are added (writers and committers of sinks, virtual nodes).
        resources: Declared resources by slot sharing group.
        job_name: Name of the job; None uses the configured or default name.

    Raises:
        InvalidProgramError: there are no transformations, a forward edge changes the parallelism, or `cache()` is used
            in a streaming job.
    """
    if not transformations:
        raise InvalidProgramError("No operators defined in streaming topology. Cannot execute.")
    generator = _Generator(configuration, ids, batch=_is_batch(transformations, configuration))
    if job_name is not None:
        generator.graph.job_name = job_name
    generator.graph.resources = dict(resources or {})
    for transformation in transformations:
        generator.transform(transformation)
    return generator.graph


def _is_batch(transformations: Sequence[Transformation], configuration: Configuration) -> bool:
    mode = configuration.get(RUNTIME_MODE)
    unbounded = [source for source in _sources(transformations) if not source.bounded]
    if mode == "BATCH" and unbounded:
        names = ", ".join(f"{source.name!r} ({source.user_location})" for source in unbounded)
        raise InvalidProgramError(
            f"Detected an UNBOUNDED source with the '{RUNTIME_MODE}' set to 'BATCH': {names}. "
            "Set it to 'AUTOMATIC' or 'STREAMING', or bound the source"
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not unbounded)


def _sources(transformations: Sequence[Transformation]) -> list[OperatorTransformation]:
    seen: set[int] = set()
    found = []
    pending = list(transformations)
    while pending:
        transformation = pending.pop()
        if id(transformation) in seen:
            continue
        seen.add(id(transformation))
        pending.extend(transformation.inputs)
        if isinstance(transformation, OperatorTransformation) and transformation.is_source:
            found.append(transformation)
    return found


class _Generator:
    def __init__(self, configuration: Configuration, ids: IdGenerator, batch: bool) -> None:
        self.configuration = configuration
        self.ids = ids
        self.batch = batch
        self.graph = self._empty_graph()
        # -1 waits until a buffer is full: in a batch job nobody waits for single elements.
        waits = not configuration.get(BUFFER_TIMEOUT_ENABLED)
        self.buffer_timeout = -1 if batch or waits else round(configuration.get(BUFFER_TIMEOUT_INTERVAL) * 1000)
        self.max_parallelism = configuration.get(MAX_PARALLELISM)
        self._outputs: dict[int, list[_Output]] = {}
        # Keeps the parts of sinks alive, so that their id() is not reused by another transformation.
        self._translated: list[Transformation] = []
        self._kinds: dict[type, Callable[[Any], list[_Output]]] = {
            UnionTransformation: self._union,
            PartitionTransformation: self._partition,
            SideOutputTransformation: self._side_output,
            SinkTransformation: self._sink,
            CacheTransformation: self._cache,
        }

    def _empty_graph(self) -> StreamGraph:
        get = self.configuration.get
        return StreamGraph(
            job_name=get(PIPELINE_NAME) or ("Flink Batch Job" if self.batch else "Flink Streaming Job"),
            job_type="BATCH" if self.batch else "STREAMING",
            dynamic=self.batch and get(SCHEDULER) in (None, "AdaptiveBatch"),
            chaining_enabled=get(OPERATOR_CHAINING),
            chain_different_max_parallelism=get(CHAIN_DIFFERENT_MAX_PARALLELISM),
            auto_generate_uids=get(AUTO_GENERATE_UIDS),
            global_exchange_mode=_BATCH_EXCHANGES[get(BATCH_SHUFFLE_MODE)] if self.batch else "ALL_EDGES_PIPELINED",
            checkpointing_enabled=not self.batch and bool(get(CHECKPOINTING_INTERVAL)),
            one_default_group=not self.batch,
            vertex_description_mode=get(VERTEX_DESCRIPTION_MODE),
            vertex_name_include_index_prefix=get(VERTEX_NAME_INDEX_PREFIX),
            configuration=self.configuration.with_current_keys().to_dict(),
        )

    def transform(self, transformation: Transformation) -> list[_Output]:
        """Translate the inputs of a transformation, then the transformation itself.

        This is iterative, because programs may be long.
        """
        pending: list[Transformation] = [transformation]
        while pending:
            current = pending[-1]
            missing = [one for one in current.inputs if id(one) not in self._outputs]
            if missing and id(current) not in self._outputs:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            if id(current) not in self._outputs:
                self._outputs[id(current)] = self._kinds.get(type(current), self._operator)(current)
                self._translated.append(current)
        return self._outputs[id(transformation)]

    # --- virtual transformations -------------------------------------------------------------------------------------

    def _inputs(self, transformation: Transformation) -> list[_Output]:
        return [output for one in transformation.inputs for output in self._outputs[id(one)]]

    def _union(self, transformation: UnionTransformation) -> list[_Output]:
        return self._inputs(transformation)

    def _partition(self, transformation: PartitionTransformation) -> list[_Output]:
        mode = transformation.exchange_mode if self.batch else "UNDEFINED"
        outputs = self._inputs(transformation)
        for _ in outputs:
            self.ids.next()  # Flink numbers its virtual nodes too
        # Of several consecutive partitioners, the last one applies, but with the exchange mode of the first.
        return [
            replace(
                output,
                partitioner=transformation.partitioner,
                exchange_mode=mode if output.partitioner is None else output.exchange_mode,
            )
            for output in outputs
        ]

    def _side_output(self, transformation: SideOutputTransformation) -> list[_Output]:
        outputs = self._inputs(transformation)
        for _ in outputs:
            self.ids.next()
        return [replace(output, output_tag=transformation.output_tag) for output in outputs]

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _operator(self, transformation: OperatorTransformation) -> list[_Output]:
        prefix = "Source: " if transformation.is_source else "Sink: " if transformation.is_sink else ""
        node = self._node(transformation, prefix + transformation.name)
        node.legacy_source = transformation.legacy_source
        node.yielding = transformation.yielding
        node.operator = transformation.operator
        if transformation.python_kind is PythonOperatorKind.BROADCAST:
            node.chaining_strategy = "ALWAYS"  # as PyFlink's translators of these operators do
        # Its input is sorted by key first, which needs an exchange (`BatchExecutionUtils.adjustChainingStrategy`).
        if self.batch and transformation.keyed and node.chaining_strategy == "ALWAYS":
            node.chaining_strategy = "HEAD"
        self.graph.add_node(node)
        if transformation.is_source:
            self.graph.source_ids.append(node.id)
        if transformation.is_sink:
            self.graph.sink_ids.append(node.id)
        two_inputs = len(transformation.inputs) == 2
        for number, one in enumerate(transformation.inputs, start=1):
            for output in self._outputs[id(one)]:
                self._connect(output, node.id, number if two_inputs else 0)
        return [_Output(node.id)]

    def _node(self, transformation: Transformation, name: str) -> StreamNode:
        timeout = transformation.buffer_timeout
        own_max = transformation.max_parallelism
        return StreamNode(
            transformation.id,
            name,
            transformation.parallelism,
            description=transformation.description or name,
            parallelism_configured=transformation.parallelism_configured,
            max_parallelism=own_max if own_max > 0 else self.max_parallelism,
            slot_sharing_group=transformation.slot_sharing_group or self._inherited_group(transformation),
            chaining_strategy=transformation.chaining_strategy,
            buffer_timeout=self.buffer_timeout if timeout is None or timeout < 0 else timeout,
            uid=transformation.uid,
            user_hash=transformation.user_hash,
            output_type=transformation.output_type,
            user_location=transformation.user_location,
        )

    def _inherited_group(self, transformation: Transformation) -> str:
        groups = {self.graph.nodes[output.node_id].slot_sharing_group for output in self._inputs(transformation)}
        return groups.pop() if len(groups) == 1 else "default"

    def _connect(self, output: _Output, target_id: int, type_number: int) -> None:
        self.graph.add_edge(
            output.node_id, target_id, type_number, output.partitioner, output.exchange_mode, output.output_tag
        )

    def _sink(self, transformation: SinkTransformation) -> list[_Output]:
        """Add a writer and, if the sink commits, a committer after it; as in Flink, with new ids each time."""
        writer = self._sink_part(transformation, transformation.inputs[0], "Writer", transformation.writer, "{}")
        writer.yielding = True
        self.transform(writer)
        if transformation.committer is None:
            return []
        source = self._behind(writer, FORWARD, "BATCH")
        for step in transformation.pre_commit:
            source = self._pre_commit(transformation, source, step)
        committer = self._sink_part(transformation, source, "Committer", transformation.committer, "Sink Committer: {}")
        self.transform(committer)
        return []

    def _pre_commit(self, sink: SinkTransformation, source: Transformation, step: PreCommitStep) -> Transformation:
        if not sink.uid:
            raise InvalidProgramError(
                f"Sink {sink.name} requires to set a uid since its customized topology has set uid for some operators."
            )
        if step.partitioner is not None:
            source = self._behind(source, step.partitioner)
        part = self._sink_part(sink, source, step.name, step.operator, f"{{}}: {step.uid}")
        part.parallelism = step.parallelism or sink.parallelism
        part.parallelism_configured = step.parallelism is not None
        return part

    def _behind(
        self, source: Transformation, partitioner: Partitioner, exchange_mode: str = "UNDEFINED"
    ) -> Transformation:
        return PartitionTransformation(
            id=self.ids.next(),
            name="Partition",
            inputs=[source],
            parallelism=source.parallelism,
            partitioner=partitioner,
            exchange_mode=exchange_mode,
        )

    def _sink_part(
        self, sink: SinkTransformation, source: Transformation, part: str, operator: object, uid: str
    ) -> OperatorTransformation:
        return OperatorTransformation(
            id=self.ids.next(),
            name=f"{sink.name}: {part}",
            inputs=[source],
            parallelism=sink.parallelism,
            parallelism_configured=sink.parallelism_configured,
            max_parallelism=sink.max_parallelism,
            buffer_timeout=sink.buffer_timeout,
            # State of a sink is found by these uids, so they are Flink's (`SinkTransformationTranslator`).
            uid=None if sink.uid is None else uid.format(sink.uid),
            user_hash=sink.user_hash if part == "Writer" else None,
            slot_sharing_group=sink.slot_sharing_group,
            chaining_strategy=sink.chaining_strategy,
            user_location=sink.user_location,
            operator=operator,
        )

    def _cache(self, transformation: CacheTransformation) -> list[_Output]:
        if not self.batch:
            raise InvalidProgramError(
                f"cache() at {transformation.user_location} needs a batch job; set execution.runtime-mode to BATCH"
            )
        outputs = self._inputs(transformation)
        node = self._node(transformation, transformation.name)
        node.operator = transformation.operator
        node.chaining_strategy = "HEAD"
        self.graph.add_node(node)
        for output in outputs:
            self.graph.add_edge(output.node_id, node.id, 0, None, data_set_id=transformation.data_set_id)
        return outputs
