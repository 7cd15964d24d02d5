"""The state of a running job: the values of keys (Flink: queryable state, deprecated since 1.18)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from firesteel.common.json_types import Json
from firesteel.common.state_problems import StateProblem
from firesteel.graph.hashing import uid_hash
from firesteel.rest.cluster import Cluster
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import STRING, Answer, Call, Route, Schema
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.resourcemanager.resource_manager_gateway import UnknownTaskExecutorError
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest

_WAIT_S = 4.0
"""How long a slot may wait for its batch; well below the timeout of calls."""

_PATIENCE_S = 15.0
_POLL_S = 0.05
_MOST_KEYS = 10_000

_STATUSES = {StateProblem.NO_STATE: 404, StateProblem.WRONG_KEY: 400, StateProblem.NO_JSON: 400}


@dataclass(slots=True)
class _Lookup:
    """A look-up, with the answers so far: value and batch by index of the key."""

    cluster: Cluster
    job_id: str
    operator: str
    operator_id: str
    state: str
    keys: Sequence[Json]
    answers: dict[int, tuple[Json, int]] = field(default_factory=dict)

    async def run(self) -> None:
        """Ask until all keys are answered: a subtask that starts or restarts answers later.

        Raises:
            RestError: there is no such job, operator, state or key (404, 400), or it does not run now (409, 503).
        """
        deadline_s, fresh = time.monotonic() + _PATIENCE_S, False
        while True:
            await self._ask(fresh)
            if len(self.answers) == len(self.keys):
                return
            if time.monotonic() > deadline_s:
                raise RestError(503, f"operator {self.operator} of job {self.job_id} does not run now; try again later")
            await asyncio.sleep(_POLL_S)
            # The first answer may be of a job that is kept from before a restart.
            fresh = True

    async def _ask(self, fresh: bool) -> None:
        job = await self.cluster.job(self.job_id, fresh)
        vertex_id = self._vertex_of(job)
        places = {
            subtask["task_manager"]
            for vertex in job.graph.get("vertices", ())
            if vertex["id"] == vertex_id
            for subtask in vertex["subtasks"]
            if subtask["task_manager"] is not None
        }
        request = StateRequest(job.details.job_id, vertex_id, self.operator_id, self.state, tuple(self.keys), _WAIT_S)
        found = await asyncio.gather(*(self._ask_at(place, request) for place in sorted(places)))
        for answers in found:
            for answer in answers:
                self._take(answer)

    async def _ask_at(self, place: str, request: StateRequest) -> tuple[StateAnswer, ...]:
        try:
            resource_manager = await self.cluster.resource_manager()
            return await resource_manager.request_task_manager_state(place, request)
        except UnknownTaskExecutorError:  # It is lost, and the job is about to restart.
            return ()

    def _vertex_of(self, job: ArchivedExecutionGraph) -> str:
        status = job.details.status
        if job.details.job_type == "BATCH":
            raise RestError(400, f"job {self.job_id} is a BATCH job, which keeps no state")
        if status.is_terminal:
            raise RestError(409, f"job {self.job_id} is {status.name}: only the state of running jobs can be read")
        for vertex_id, operators in job.operators.items():
            if self.operator_id in operators:
                return str(vertex_id)
        names = ", ".join(
            f"{vertex['name']!r} ({', '.join(job.operators[vertex['id']])})" for vertex in job.graph.get("vertices", ())
        )
        raise RestError(404, f"job {self.job_id} has no operator {self.operator}; its vertices and operators: {names}")

    def _take(self, answer: StateAnswer) -> None:
        if answer.problem:
            problem = StateProblem(answer.problem)
            if not problem.may_pass:
                raise RestError(_STATUSES[problem], self._message(problem, answer.about))
        for index, value in answer.found:
            self.answers[index] = value, answer.batch_id
        for index in answer.absent:
            self.answers[index] = None, answer.batch_id

    def _message(self, problem: StateProblem, about: str) -> str:
        if problem is StateProblem.NO_STATE:
            return f"operator {self.operator} of job {self.job_id} has no keyed state {self.state!r}; it has {about}"
        return f"state {self.state!r} of operator {self.operator}: {about}"


async def _one(call: Call) -> Answer:
    """Return the value of one key."""
    text = _required(call.query.get("key"), "key")
    try:
        key = json.loads(text)
    except ValueError:
        key = text  # A text needs no quotes.
    return await _answer(call, call.query, [key])


async def _several(call: Call) -> Answer:
    """Return the values of several keys."""
    keys = call.body.get("keys")
    if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
        raise RestError(400, f"keys must be an array of at most {_MOST_KEYS} keys")
    return await _answer(call, call.body, keys)


async def _answer(call: Call, fields: dict[str, str], keys: list[Json]) -> Answer:
    given = [name for name in ("uid", "uidHash") if fields.get(name)]
    if len(given) != 1:
        raise RestError(400, f"either uid or uidHash must be given, found {given or 'none of them'}")
    [name] = given
    operator_id = fields[name] if name == "uidHash" else uid_hash(fields[name]).hex()
    state = _required(fields.get("state"), "state")
    lookup = _Lookup(call.cluster, call.path["jobid"], repr(fields[name]), operator_id, state, keys)
    await lookup.run()
    values = [lookup.answers[index] for index in range(len(keys))]
    return {
        "operator": operator_id,
        "state": state,
        "values": [{"key": key, "value": value, "batch": b} for key, (value, b) in zip(keys, values, strict=True)],
    }


def _required(value: str | None, name: str) -> str:
    if not value:
        raise RestError(400, f"{name} must be given")
    return value


_NAMES: dict[str, Schema] = {"uid": STRING, "uidHash": STRING, "state": STRING}
ROUTES = (
    Route("GET", "/firesteel/jobs/{jobid}/state", _one, query={**_NAMES, "key": STRING}),
    Route(
        "POST",
        "/firesteel/jobs/{jobid}/state",
        _several,
        body={**_NAMES, "keys": {"type": "array"}},
    ),
)
