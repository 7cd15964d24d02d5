"""Look-ups of keys in the state of a running job, as TaskExecutors answer them.

Flink: queryable state (`queryablestate.server.KvStateServerHandler`), deprecated since 1.18.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.json_types import Json

__all__ = ["StateAnswer", "StateRequest"]


@dataclass(frozen=True, slots=True)
class StateRequest:
    """A request for the values of keys in a keyed state.

    Attributes:
        job_id: The job.
        vertex_id: The vertex of the operator.
        operator_id: The operator.
        state: Name of the state.
        keys: The keys, as JSON.
        wait_s: Time in seconds for which a slot may wait for the batch that runs.
    """

    job_id: str
    vertex_id: str
    operator_id: str
    state: str
    keys: tuple[Json, ...]
    wait_s: float


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """The answer of one slot, about the keys that it owns, or why there is none.

    Attributes:
        batch_id: The batch after which the subtask had these values.
        found: Indexes of keys in the request, with their values as JSON.
        absent: Indexes of keys without a value.
        problem: The kind of problem, see `task.state_lookups`; empty if there is none.
        about: What to say about the problem.
    """

    batch_id: int
    found: tuple[tuple[int, Json], ...]
    absent: tuple[int, ...]
    problem: str
    about: str
