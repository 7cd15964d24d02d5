"""The command `diff`, which compares two programs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from firesteel.cli.arguments import reported_errors
from firesteel.cli.cluster import output_option, show
from firesteel.cli.command_group import ProgramPath
from firesteel.cli.program_options import ProgramOptions, program_options
from firesteel.common.parent_process import die_with_parent
from firesteel.common.terminal_text import printable
from firesteel.common.text_table import text_table
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import ChainedOperator, JobGraph, JobVertex

Change = Literal["same", "changed", "added", "removed"]
_MARKS: dict[Change, str] = {"same": "=", "changed": "~", "added": "+", "removed": "-"}


class PlanError(FiresteelError):
    """A program has no plan; the text is the message of `firesteel plan`."""


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """What changes for an operator, which keeps its state if its id stays."""

    operator_id: str
    name: str
    uid: str | None
    change: Change
    detail: str = ""

    @property
    def hint(self) -> str:
        """What a user should know of it."""
        return "" if self.uid is not None else "no uid: its id comes from its place in the graph"


@click.command(context_settings={"ignore_unknown_options": True})
@program_options
@output_option
@click.argument("old", type=ProgramPath(exists=True, dir_okay=False, path_type=Path))
@click.argument("new", type=ProgramPath(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def diff(
    given: ProgramOptions,
    output: str,
    old: Path,
    new: Path,
    arguments: tuple[str, ...],
) -> None:
    """Compare the plans of two programs, OLD and NEW, operator by operator, without running them.

    Operators with the same id keep their state in a restart from a savepoint. Both programs get ARGUMENTS. Instead of
    a program, the JSON of a job graph (`firesteel plan job --format json`) may be given.
    """
    words = [word for key, value in (given.options | given.flags).items() for word in ("-D", f"{key}={value}")]
    words += ["--pyflink"] * given.pyflink + ["--no-check"] * given.unchecked + ["-v"] * given.verbose
    with reported_errors(new, given.verbose):
        before, after = (_job_graph(path, words, arguments) for path in (old, new))
    changes = [*operator_changes(before, after)]
    rows = [("", "operator", "uid", "", "")]
    rows += [(_MARKS[one.change], one.name, one.uid or "", one.detail or one.change, one.hint) for one in changes]
    show(output, [asdict(one) for one in changes], "\n".join(text_table(rows)))


def _job_graph(program: Path, options: list[str], arguments: tuple[str, ...]) -> JobGraph:
    """Return the plan of a program, which runs in a process of its own: modules of both may have the same names.

    The process ends with this one, also if the program waits for ever and this one is killed.
    """
    with tempfile.TemporaryDirectory() as directory:
        found = Path(directory) / "plan.json"  # Standard output has what the processes of the program print.
        output = ["--format", "json", "-o", str(found)]
        command = [sys.executable, "-m", "firesteel", "plan", *options, *output, "job", str(program), "--", *arguments]
        planned = subprocess.run(command, capture_output=True, text=True, preexec_fn=die_with_parent)
        if planned.returncode != 0:
            raise PlanError(f"{program}: {printable(planned.stderr.strip().removeprefix('Error: '))}")
        return JobGraph.from_dict(json.loads(found.read_text()))


def operator_changes(before: JobGraph, after: JobGraph) -> Iterator[OperatorChange]:
    """Yield what changes for each operator of two graphs: those of the second one, then those that are gone."""
    old, new = _operators(before), _operators(after)
    for operator_id, (vertex, node) in new.items():
        if operator_id in old:
            detail = ", ".join(_differences(old[operator_id], (vertex, node)))
            yield OperatorChange(operator_id, node.name, node.given_id, "changed" if detail else "same", detail)
        else:
            yield OperatorChange(operator_id, node.name, node.given_id, "added")
    for operator_id, (_, node) in old.items():
        if operator_id not in new:
            yield OperatorChange(operator_id, node.name, node.given_id, "removed")


_Placed = tuple[JobVertex, ChainedOperator]


def _operators(job_graph: JobGraph) -> Mapping[str, _Placed]:
    return {node.operator_id: (vertex, node) for vertex in job_graph.vertices for node in vertex.chain}


def _differences(before: _Placed, after: _Placed) -> Iterator[str]:
    (old_vertex, old), (new_vertex, new) = before, after
    both = (
        ("name", old.name, new.name),
        ("parallelism", old_vertex.parallelism, new_vertex.parallelism),
        ("max parallelism", old_vertex.max_parallelism, new_vertex.max_parallelism),
        ("inputs", _inputs(*before), _inputs(*after)),
    )
    yield from (f"{what} {was} -> {now}" for what, was, now in both if was != now)
    if (is_chained := new.chain_index > 1) != (old.chain_index > 1):
        yield "chained" if is_chained else "not chained"


def _inputs(vertex: JobVertex, node: ChainedOperator) -> str:
    return ", ".join(edge.ship_strategy for edge in vertex.inputs if edge.target_node_id == node.node_id) or "-"
