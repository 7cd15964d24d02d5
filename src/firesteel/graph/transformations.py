"""What the API calls leave behind: one transformation per call, linked to its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from firesteel.graph.partitioner import Partitioner


class PythonOperatorKind(Enum):
    """How a Python operator takes part in merging (PyFlink's four process operators and those for broadcast state)."""

    PROCESS = "process"
    KEYED_PROCESS = "keyed process"
    CO_PROCESS = "co-process"
    KEYED_CO_PROCESS = "keyed co-process"
    BROADCAST = "broadcast process"


@dataclass(eq=False, kw_only=True)
class Transformation:
    """One API call (Flink: `api.dag.Transformation`); ids count all transformations of an environment from 1.

    Attributes:
        slot_sharing_group: The group set by the program; None inherits.
        description: The description set by the program; None shows the name.
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
    """A call that runs an operator.

    Attributes:
        operator: The descriptor that says what runs.
        is_source: Starts the graph.
        is_sink: Ends it (a legacy sink; the writers of `SinkTransformation` count as operators).
        legacy_source: A source from before FLIP-27: never heads a chain with a yielding operator.
        bounded: False for a source without end.
        yielding: May yield to the mailbox: a sink writer.
        python_kind: None if the operator takes no part in merging.
        keyed: Has keyed state or timers.
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
    """The hidden operator in front of a partitioner by key: runs like its input, connected forward."""


@dataclass(eq=False, kw_only=True)
class ValuesTransformation(OperatorTransformation):
    """The hidden operator that takes keys off: runs like its consumer, connected forward."""


@dataclass(eq=False, kw_only=True)
class CacheTransformation(OperatorTransformation):
    """`cache()`: its input produces a result that outlives the job, under `data_set_id`."""

    data_set_id: str = ""


@dataclass(eq=False, kw_only=True)
class UnionTransformation(Transformation):
    """Several inputs as one."""


@dataclass(eq=False, kw_only=True)
class PartitionTransformation(Transformation):
    """Another way to spread the elements; None: as they come."""

    partitioner: Partitioner | None
    exchange_mode: str = "UNDEFINED"


@dataclass(eq=False, kw_only=True)
class SideOutputTransformation(Transformation):
    """The elements of one output tag."""

    output_tag: str


@dataclass(frozen=True, slots=True)
class PreCommitStep:
    """An operator between a sink's writer and its committer. Flink: `SupportsPreCommitTopology`.

    Attributes:
        name: Its name, behind that of the sink.
        uid: Its uid, behind that of the sink, which needs one then.
        operator: What runs.
        partitioner: How it gets its input; None: as it comes.
        parallelism: Its own; None: that of the sink.
    """

    name: str
    uid: str
    operator: Any
    partitioner: Partitioner | None = None
    parallelism: int | None = None


@dataclass(eq=False, kw_only=True)
class SinkTransformation(Transformation):
    """`sink_to`: becomes a writer and, with `committer`, the steps before a commit and a committer behind it."""

    writer: Any
    committer: Any | None = None
    pre_commit: tuple[PreCommitStep, ...] = ()


@dataclass(slots=True)
class IdGenerator:
    """Numbers transformations."""

    last: int = 0

    def next(self) -> int:
        """The next number."""
        self.last += 1
        return self.last
