"""The command `rescale`, which changes the parallelism of a running job."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import click

from firesteel.cli.cluster import JobId, cluster_at, cluster_options, show
from firesteel.cli.command_group import Whole
from firesteel.client.rest_client import ENDED, ClusterClientError, RestClusterClient
from firesteel.common.terminal_text import in_one_line
from firesteel.graph.hashing import uid_hash

_POLL_S: Final = 0.1
_TOLD_AFTER_S: Final = 2.0


class _Vertex(NamedTuple):
    id: str
    name: str
    parallelism: int
    max_parallelism: int


@click.command()
@cluster_options
@click.option(
    "--vertex",
    "vertices",
    multiple=True,
    metavar="VERTEX=N",
    help="Parallelism of one vertex, named by its id, its name, or the uid of its first operator; others keep theirs.",
)
@click.option("--min", "lower", type=Whole(1), default=1, help="Smallest parallelism, with too few slots [1].")
@click.option("-d", "--detached", is_flag=True, help="Do not wait until the job runs with it.")
@click.argument("job_id", type=JobId())
@click.argument("parallelism", type=Whole(1), required=False)
def rescale(
    address: str,
    output: str,
    vertices: tuple[str, ...],
    lower: int,
    detached: bool,
    job_id: str,
    parallelism: int | None,
) -> None:
    """Let the running job JOB_ID continue with PARALLELISM, without a stop.

    Vertices that can't have so many subtasks get as many as they can.
    """
    if (parallelism is None) == (not vertices):
        raise click.UsageError("expected either a parallelism for all vertices, or --vertex VERTEX=N")
    with cluster_at(address) as cluster:
        while cluster.job_status(job_id) == "INITIALIZING":
            time.sleep(_POLL_S)
        job = cluster.get(f"/jobs/{job_id}")
        found = [_Vertex(one["id"], one["name"], one["parallelism"], one["maxParallelism"]) for one in job["vertices"]]
        edges = [(edge, node["id"]) for node in job["plan"]["nodes"] for edge in node.get("inputs", ())]
        together = _together(found, [(edge["id"], to) for edge, to in edges if edge["ship_strategy"] == "FORWARD"])
        wanted = _all(found, together, parallelism) if parallelism is not None else _some(found, together, vertices)
        # All vertices, as a request that leaves some out is refused.
        bounds = {vertex: (min(lower, upper), upper) for vertex, upper in _with_others(cluster, job_id, wanted)}
        cluster.require(job_id, bounds)
        after = {} if detached else _wait(cluster, job_id, wanted)
    text = f"Requested for job {job_id}." if detached else f"Job {job_id} runs with:\n" + _table(found, after)
    show(output, {"job-id": job_id, "parallelism": after or wanted}, text)


def _together(vertices: Sequence[_Vertex], forwards: Sequence[tuple[str, str]]) -> list[set[str]]:
    """Return the vertices in groups that need the same parallelism, as FORWARD edges connect them."""
    groups = [{vertex.id} for vertex in vertices]
    for edge in forwards:
        ends = [group for group in groups if not group.isdisjoint(edge)]
        groups = [group for group in groups if group not in ends] + [set[str]().union(*ends)]
    return groups


def _all(vertices: Sequence[_Vertex], together: Sequence[set[str]], parallelism: int) -> dict[str, int]:
    most = {vertex.id: vertex.max_parallelism for vertex in vertices}
    return {vertex: min(parallelism, *(most[one] for one in group)) for group in together for vertex in group}


def _some(vertices: Sequence[_Vertex], together: Sequence[set[str]], given: tuple[str, ...]) -> dict[str, int]:
    """Return the parallelism of the vertices that are named, and of those that have to change with them."""
    named = _named(vertices, given)
    others = {vertex: named[one] for group in together for one in sorted(group & named.keys()) for vertex in group}
    return others | named


def _named(vertices: Sequence[_Vertex], given: tuple[str, ...]) -> dict[str, int]:
    wanted = {}
    for text in given:
        name, _, number = text.rpartition("=")
        if not number.isdecimal() or not name:
            raise click.UsageError(f"--vertex is {text!r}, expected VERTEX=N, such as {vertices[0].name!r}=4")
        wanted[_vertex(vertices, name)] = int(number)
    return wanted


def _vertex(vertices: Sequence[_Vertex], name: str) -> str:
    """Return the id of the vertex that is called so.

    Raises:
        ClusterClientError: none or several are.
    """
    ids = [vertex.id for vertex in vertices if name in (vertex.id, vertex.name)]
    ids = ids or [vertex.id for vertex in vertices if vertex.id == uid_hash(name).hex()]
    ids = ids or [vertex.id for vertex in vertices if name in vertex.name]
    if len(ids) != 1:
        there = "\n".join(f"  {vertex.id}  {in_one_line(vertex.name)}" for vertex in vertices)
        found = "several vertices of the job match" if ids else "no vertex of the job matches"
        raise ClusterClientError(0, f"{found} {name!r}; it has\n{there}")
    return ids[0]


def _with_others(cluster: RestClusterClient, job_id: str, wanted: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the wanted parallelism of all vertices; those that are not named keep what was asked for before."""
    before = cluster.get(f"/jobs/{job_id}/resource-requirements")
    return [(vertex, wanted.get(vertex, one["parallelism"]["upperBound"])) for vertex, one in before.items()]


def _wait(cluster: RestClusterClient, job_id: str, wanted: Mapping[str, int]) -> dict[str, int]:
    """Wait until the job runs with the parallelism, or with that for which there are slots, and return it.

    Raises:
        ClusterClientError: the job ended, or can't run with it.
    """
    begun_s, is_told = time.monotonic(), False
    while True:
        job = cluster.get(f"/jobs/{job_id}")
        if job["state"] in ENDED:
            raise ClusterClientError(0, f"job {job_id} is {job['state']}")
        found = {vertex["id"]: int(vertex["parallelism"]) for vertex in job["vertices"]}
        if job["state"] == "RUNNING" and all(found[vertex] == one for vertex, one in wanted.items()):
            return found
        _check_possible(cluster, job_id, wanted)
        if not is_told and time.monotonic() - begun_s > _TOLD_AFTER_S:
            is_told = True
            click.echo("Waiting for the end of a batch, or for slots. Ctrl-C does not take back the request.", err=True)
        time.sleep(_POLL_S)


def _check_possible(cluster: RestClusterClient, job_id: str, wanted: Mapping[str, int]) -> None:
    """Check that the job did not fail to continue with the parallelism.

    Raises:
        ClusterClientError: it did.
    """
    failed = cluster.get(f"/jobs/{job_id}/rescales/overview")["latest"]["failed"]
    if failed is None or failed["terminatedReason"] != "EXCEPTION_OCCURRED":
        return
    if all(failed["vertices"][vertex]["postRescaleParallelism"] == number for vertex, number in wanted.items()):
        error = failed["schedulerStates"][-1]["stringifiedException"]
        raise ClusterClientError(0, f"job {job_id} goes on as before: {error}")


def _table(vertices: Sequence[_Vertex], after: Mapping[str, int]) -> str:
    return "\n".join(f"  {after[one.id]:>4}  (was {one.parallelism})  {in_one_line(one.name)}" for one in vertices)
