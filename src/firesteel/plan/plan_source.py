"""Inputs from which a plan can be drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from firesteel.common.configuration import Configuration, set_default_options
from firesteel.compat import run_as_main
from firesteel.datastream.streams.pipeline_executor import set_pipeline_executor
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamGraph
from firesteel.plan.flink_plan import job_graph_of_plan
from firesteel.runtime.dispatcher.job_submission import submittable

__all__ = ["InvalidPlanError", "PlanSource", "load_plan_source"]

_KINDS = (
    "a Python program, the JSON of a stream graph or job graph (to_dict()), or the response of a Flink "
    "cluster to /jobs/:id/plan or /jobs/:id"
)


class InvalidPlanError(FiresteelError):
    """The input does not contain anything to draw a plan from."""


@dataclass(frozen=True, slots=True)
class PlanSource:
    """The graphs of a job.

    Attributes:
        job_graph: The job graph.
        stream_graph: The stream graph; None if only the job graph is known.
        configuration: The options of the program, which complete the job graph.
        notes: Remarks on missing information.
    """

    job_graph: JobGraph
    stream_graph: StreamGraph | None = None
    configuration: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()


def load_plan_source(
    path: Path, arguments: tuple[str, ...] = (), options: Mapping[str, str] | None = None, pyflink: bool = False
) -> PlanSource:
    """Return the job that a file describes.

    A program runs up to its first `execute()`, which does not start the job.

    Raises:
        InvalidPlanError: the file is neither a program nor a graph.
        InvalidProgramError: the program cannot be translated into a job.
    """
    if path.suffix != ".py":
        try:
            data = json.loads(path.read_text())
        except ValueError as error:
            if path.suffix == ".json":
                raise InvalidPlanError(f"{path} is not valid JSON: {error}; expected {_KINDS}") from None
        else:
            return _of_json(path, data)
    return _of_program(path, arguments, dict(options or {}), pyflink)


def _of_json(path: Path, data: Any) -> PlanSource:
    keys = set(data) if isinstance(data, dict) else set()
    try:
        if {"plan", "vertices", "jid"} <= keys:
            return _of_job_details(data)
        if {"plan"} == keys:
            return _of_flink_plan(data["plan"])
        if {"jid", "nodes"} <= keys:
            return _of_flink_plan(data)
        if {"nodes", "source_ids"} <= keys:
            stream_graph = StreamGraph.from_dict(data)
            return PlanSource(stream_graph.get_job_graph(), stream_graph, stream_graph.configuration)
        if {"vertices", "vertices_insertion_order"} <= keys:
            job_graph = JobGraph.from_dict(data)
            return PlanSource(job_graph, configuration=job_graph.configuration)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FiresteelError):
            raise
        raise InvalidPlanError(f"{path}: a part of the graph is missing or wrong: {error!r}") from None
    found = f"an object with {', '.join(sorted(keys)) or 'nothing in it'}" if isinstance(data, dict) else "no object"
    raise InvalidPlanError(f"{path} contains {found}; expected {_KINDS}")


def _of_flink_plan(plan: Mapping[str, Any]) -> PlanSource:
    note = "Flink's plan has no slot sharing groups: all vertices are assumed to share slots; /jobs/:id has them"
    return PlanSource(job_graph_of_plan(plan), notes=(note,))


def _of_job_details(details: Mapping[str, Any]) -> PlanSource:
    return PlanSource(job_graph_of_plan(details["plan"], {vertex["id"]: vertex for vertex in details["vertices"]}))


class _Planned(BaseException):
    """Ends the program at its first execute() (Flink: ProgramAbortException).

    It is not an Exception, because programs catch those.
    """


class _PlanExecutor:
    """Stores the stream graph instead of running it (Flink: `client.program.StreamPlanEnvironment`)."""

    def __init__(self) -> None:
        self.taken: PlanSource | None = None

    def execute(self, stream_graph: StreamGraph, configuration: Configuration, *_: object) -> NoReturn:
        self.check(stream_graph, configuration)
        self.taken = PlanSource(stream_graph.get_job_graph(), stream_graph, configuration.to_dict())
        raise _Planned

    execute_async = collect = execute

    def check(self, stream_graph: StreamGraph, configuration: Configuration) -> None:
        submittable(stream_graph, configuration.to_dict())


def _of_program(program: Path, arguments: tuple[str, ...], options: dict[str, str], pyflink: bool) -> PlanSource:
    executor = _PlanExecutor()
    set_default_options(options)
    set_pipeline_executor(executor)
    try:
        run_as_main(program, arguments, pyflink)
    except _Planned:
        pass
    finally:
        set_pipeline_executor(None)
    if executor.taken is None:
        raise InvalidPlanError(f"{program} ended without execute(): there is no job to draw")
    return executor.taken
