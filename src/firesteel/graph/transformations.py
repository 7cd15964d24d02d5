"""Transformations: one per API call, linked to its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from firesteel.graph.partitioner import Partitioner


class PythonOperatorKind(Enum):
    """The role of a Python operator in merging (PyFlink's four process operators, and those with broadcast state)."""

    PROCESS = "process"
    KEYED_PROCESS = "keyed process"
    CO_PROCESS = "co-process"
    KEYED_CO_PROCESS = "keyed co-process"
    BROADCAST = "broadcast process"


@dataclass(eq=False, kw_only=True)
class Transformation:
    """An API call (Flink: `api.dag.Transformation`); ids number all transformations of an environment from 1.

    Attributes:
        slot_sharing_group: The group set by the program; None inherits.
        description: The description set by the program; None uses the name.
        user_location: `file.py:12` of the call.
    """

    id: int
    name: str
    inputs: list[Transformation]
    parallelism: int
    output_type: Any = None
    parallelism_configured: bool = False
    max_parallelism: int = -1
    buffer_timeout: int | None = None
    uid: str | None = None
    user_hash: str | None = None
    description: str | None = None
    slot_sharing_group: str | None = None
    chaining_strategy: str = "ALWAYS"
    user_location: str | None = None


@dataclass(eq=False, kw_only=True)
class OperatorTransformation(Transformation):
    """A call that adds an operator.

    Attributes:
        operator: Descriptor of the operator.
        is_source: Whether it is a source.
        is_sink: Whether it is a legacy sink (the writers of `SinkTransformation` count as operators).
        legacy_source: Whether it is a source from before FLIP-27, which never heads a chain with a yielding operator.
        bounded: Whether the source is bounded.
        yielding: Whether it may yield to the mailbox, as a sink writer does.
        python_kind: Role in merging; None if it takes no part.
        keyed: Whether it has keyed state or timers.
    """

    operator: Any = None
    is_source: bool = False
    is_sink: bool = False
    legacy_source: bool = False
    bounded: bool = True
    yielding: bool = False
    python_kind: PythonOperatorKind | None = None
    keyed: bool = False


@dataclass(eq=False, kw_only=True)
class KeyByTransformation(OperatorTransformation):
    """The hidden operator in front of a partitioner by key; it is aligned with its input and connected forward."""


@dataclass(eq=False, kw_only=True)
class ValuesTransformation(OperatorTransformation):
    """The hidden operator that removes keys; it is aligned with its consumer and connected forward."""


@dataclass(eq=False, kw_only=True)
class CacheTransformation(OperatorTransformation):
    """`cache()`: its input produces a persistent result with the id `data_set_id`."""

    data_set_id: str = ""


@dataclass(eq=False, kw_only=True)
class UnionTransformation(Transformation):
    """A union of several inputs."""


@dataclass(eq=False, kw_only=True)
class PartitionTransformation(Transformation):
    """A change of the partitioner; None restores the default partitioner."""

    partitioner: Partitioner | None
    exchange_mode: str = "UNDEFINED"


@dataclass(eq=False, kw_only=True)
class SideOutputTransformation(Transformation):
    """The elements of a side output."""

    output_tag: str


@dataclass(frozen=True, slots=True)
class PreCommitStep:
    """An operator between a sink's writer and its committer (Flink: `SupportsPreCommitTopology`).

    Attributes:
        name: Suffix to the sink's name.
        uid: Suffix to the sink's uid, which is then required.
        operator: Descriptor of the operator.
        partitioner: Partitioner of its input; None is the default one.
        parallelism: Its parallelism; None uses the sink's.
    """

    name: str
    uid: str
    operator: Any
    partitioner: Partitioner | None = None
    parallelism: int | None = None


@dataclass(eq=False, kw_only=True)
class SinkTransformation(Transformation):
    """`sink_to`: becomes a writer and, with `committer`, the pre-commit steps and a committer."""

    writer: Any
    committer: Any | None = None
    pre_commit: tuple[PreCommitStep, ...] = ()


@dataclass(slots=True)
class IdGenerator:
    """Generates the ids of transformations."""

    last: int = 0

    def next(self) -> int:
        """Return the next number."""
        self.last += 1
        return self.last
