"""Sampled stacks of subtasks, and threads of processes, as TaskExecutors return them.

Flink: `runtime.messages.TaskThreadInfoResponse`, `runtime.messages.ThreadInfoSample`. Flink samples a thread per
subtask; here the subtasks of a slot take turns in one thread, so a sample also tells whose turn it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from firesteel.common.stack_frames import Frame

__all__ = ["StackRequest", "SubtaskStacks", "joined"]


@dataclass(frozen=True, slots=True)
class StackRequest:
    """A request to sample the stacks of subtasks. Flink: `ThreadInfoRequestCoordinator`.

    Attributes:
        job_id: The job.
        vertex_id: The vertex whose subtasks are wanted; None for all of the job.
        samples: Number of samples per subtask, from 1.
        delay_s: Time in seconds between two of them, above 0.
        depth: Number of calls of a stack, from the innermost on.
    """

    job_id: str
    vertex_id: str | None
    samples: int
    delay_s: float
    depth: int


@dataclass(frozen=True, slots=True)
class SubtaskStacks:
    """The samples of one subtask.

    Attributes:
        vertex_id: The vertex.
        vertex_name: Its name.
        subtask: Index of the subtask.
        stacks: The different stacks, each with its outermost call first.
        samples: For each sample, in the order of time, the index of its stack, and whether the thread had a processor.
    """

    vertex_id: str
    vertex_name: str
    subtask: int
    stacks: tuple[tuple[Frame, ...], ...]
    samples: tuple[tuple[int, bool], ...]


def joined(parts: Iterable[SubtaskStacks]) -> list[SubtaskStacks]:
    """Return the samples with those of the same subtask put together, in the given order.

    Example:
        >>> first = SubtaskStacks("v", "Map", 0, ((("f", "a.py", 1),),), ((0, True),))
        >>> later = SubtaskStacks("v", "Map", 0, ((("g", "a.py", 2),), (("f", "a.py", 1),)), ((0, False), (1, True)))
        >>> joined([first, later])[0].samples
        ((0, True), (1, False), (0, True))
    """
    found: dict[tuple[str, int], tuple[SubtaskStacks, dict[tuple[Frame, ...], int], list[tuple[int, bool]]]] = {}
    for part in parts:
        _, places, samples = found.setdefault((part.vertex_id, part.subtask), (part, {}, []))
        own = [places.setdefault(stack, len(places)) for stack in part.stacks]
        samples.extend((own[stack], is_on_cpu) for stack, is_on_cpu in part.samples)
    return [
        SubtaskStacks(part.vertex_id, part.vertex_name, part.subtask, tuple(places), tuple(samples))
        for part, places, samples in found.values()
    ]
