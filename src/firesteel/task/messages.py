"""Messages between the TaskExecutor and its slot processes on the control connection: a length, then a pickle."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import Any

from firesteel.task.batch_plan import SubtaskReport
from firesteel.task.slot_limits import UNLIMITED, SlotLimits
from firesteel.task.state_seal import StateSeal

LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a slot process, with the name under which it was ordered."""

    name: str
    process_id: int


@dataclass(frozen=True, slots=True)
class Deploy:
    """Run a task in the slot.

    Attributes:
        execution_attempt_id: The attempt; its states are reported under it.
        job: The job graph as bytes.
        slot: Number of the slot in the job.
        region: Number of the task's pipelined region; a process runs tasks of one.
        attempt: Number of the attempt.
        sys_path: The client's module search path.
        configuration: The configuration of the job.
        seal: Signs and verifies the slot's state files.
        limits: What the slot may use.
    """

    execution_attempt_id: str
    job: bytes
    slot: int
    region: int
    attempt: int
    sys_path: tuple[str, ...]
    configuration: dict[str, str]
    seal: StateSeal
    limits: SlotLimits = UNLIMITED


@dataclass(frozen=True, slots=True)
class CancelAll:
    """Close all tasks of the slot; the slot process answers with `Closed`."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """The task is ready for records."""

    execution_attempt_id: str


@dataclass(frozen=True, slots=True)
class Closed:
    """All tasks of the slot are closed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """User code raised an error.

    Attributes:
        deployment: The deployment of the task, see `protocol.deployment_of`. Another one may have begun meanwhile.
        failure: The fields of a `TaskFailure`.
    """

    deployment: str
    failure: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the subtasks so far."""

    subtasks: list[SubtaskReport]


def encode_message(message: object) -> bytes:
    """Return a pickled message with its length in front."""
    data = pickle.dumps(message, protocol=5)
    return LENGTH.pack(len(data)) + data
