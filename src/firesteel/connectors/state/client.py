"""Reads the state of a running job by the REST API of its cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

from firesteel.client.rest_client import ENDED, TOKEN, ClusterClientError, RestClusterClient
from firesteel.common.json_types import Json
from firesteel.errors import FiresteelError

_ID_LENGTH = 32
_NOT_FOUND = 404
_PATIENCE_S, _POLL_S = 15.0, 0.2


class StateReadError(FiresteelError):
    """The state of a job cannot be read; the argument is the message."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class RunningState:
    """A keyed state of a job that runs. It is picklable, and connects when it is first used.

    Attributes:
        address: Address of the REST API.
        token: The bearer token; None uses that of this user's JobManager, if it is on this machine.
        job: Id or name of the job.
        operator: The fields of requests that name the operator: `uid` or `uidHash`.
        state: Name of the state.
        configuration: The TLS options of clients.
        is_own: Whether it is the cluster of the session, for which the token in the environment counts, too. A table
            must not be able to let a process send that elsewhere.
    """

    address: str
    token: str | None
    job: str
    operator: Mapping[str, str]
    state: str
    configuration: Mapping[str, str] = field(default_factory=dict)
    is_own: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        # Without the connection that it may have by now.
        return RunningState, tuple(getattr(self, one.name) for one in fields(self))

    @cached_property
    def _client(self) -> RestClusterClient:
        # The token of this process is for its own cluster: a table may name another one.
        token = self.token or (os.environ.get(TOKEN) if self.is_own else None)
        return RestClusterClient(self.address, token, self.configuration)

    @cached_property
    def _job_id(self) -> str:
        """The id of the job.

        Raises:
            StateReadError: no running job, or more than one, has the name.
        """
        if len(self.job) == _ID_LENGTH and not self.job.strip("0123456789abcdefABCDEF"):
            return self.job.lower()
        running = [one for one in self._client.list_jobs() if one["state"] not in ENDED]
        found = [str(one["jid"]) for one in running if one["name"] == self.job]
        if len(found) != 1:
            names = ", ".join(sorted({repr(one["name"]) for one in running})) or "none"
            many = (
                f"{len(found)} running jobs at {self.address} have"
                if found
                else f"no running job at {self.address} has"
            )
            raise StateReadError(f"{many} the name {self.job!r}; running jobs: {names}")
        return found[0]

    def values(self, keys: Sequence[Json]) -> list[Json]:
        """Return the value of each key as JSON, None where there is none.

        Raises:
            ClusterClientError: there is no such job, operator or state, or a key has another type.
        """
        body = {**self.operator, "state": self.state, "keys": list(keys)}
        answer = self._client.send("POST", f"/firesteel/jobs/{self._job_id}/state", body)
        return [one["value"] for one in answer["values"]]

    def snapshot(self) -> str:
        """Take a checkpoint of the job, which goes on meanwhile, and return its directory.

        Raises:
            ClusterClientError: there is no such job, or it could not take the checkpoint.
        """
        number = self._client.checkpoint(self._job_id, "CONFIGURED")
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                details = self._client.get(f"/jobs/{self._job_id}/checkpoints/details/{number}")
                return str(details["external_path"])
            except ClusterClientError as error:
                # The server may answer from what it has known of the job some seconds ago.
                if error.status != _NOT_FOUND or time.monotonic() > deadline_s:
                    raise
            time.sleep(_POLL_S)
