"""Whether the state of a checkpoint or savepoint fits a program, operator by operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from firesteel.common.text_table import text_table
from firesteel.functions.operator_descriptors import ColumnOperator
from firesteel.graph.job_graph import ChainedOperator, JobGraph, JobVertex
from firesteel.operators.chain.operator_errors import StateMigrationError
from firesteel.operators.chain.subtask import operator_ids, operators_of
from firesteel.operators.state.descriptions import OF_KEYS, OF_LAYOUT, check_layout, check_same, type_text
from firesteel.state_processor.savepoint_files import SavepointFiles, TableName
from firesteel.task.checkpoint_metadata import VertexLayout
from firesteel.task.restore import StateRestoreError, adopt_layout, has_state

Fit = Literal["fits", "new", "ended", "dropped", "refused"]

_MARKS: dict[Fit, str] = {"fits": "=", "new": "+", "ended": "-", "dropped": "-", "refused": "!"}


@dataclass(frozen=True, slots=True)
class OperatorFit:
    """What becomes of an operator's state if a program starts from it.

    Attributes:
        operator_id: Id of the operator.
        name: Name of the operator.
        uid: Its uid; None if the program sets none, or does not have the operator.
        fit: `fits` (it continues with its state), `new` (it starts without state), `ended` (only the savepoint has
            it, without state), `dropped` (only the savepoint has it, with state), or `refused`.
        reason: Names of its states; for `refused`, what does not fit.

    Example:
        >>> OperatorFit("ca88ee", "counter", "counter", "fits", "count").hint
        ''
    """

    operator_id: str
    name: str
    uid: str | None
    fit: Fit
    reason: str = ""

    @property
    def hint(self) -> str:
        """What a user should know of it."""
        if self.fit == "dropped":
            return "its state belongs to no operator of the program"
        if self.uid is None and self.fit in ("fits", "new"):
            return "it has no uid: another change of the program may take its state away"
        return ""


@dataclass(frozen=True, slots=True)
class ProgramFit:
    """What becomes of the state of a checkpoint or savepoint if a program starts from it.

    Attributes:
        path: The directory of the checkpoint or savepoint.
        operators: The operators of the program, and those that only the checkpoint has.

    Example:
        >>> ProgramFit("savepoint", [OperatorFit("ca88ee", "counter", None, "dropped", "count")]).problems(False)
        ["'counter': its state belongs to no operator of the program"]
    """

    path: str
    operators: list[OperatorFit]

    def problems(self, allow_non_restored: bool) -> list[str]:
        """Return why the program can't start from the state; none if it can.

        Args:
            allow_non_restored: Whether state that belongs to no operator may be left behind.
        """
        return [
            f"{one.name!r}: {one.reason if one.fit == 'refused' else one.hint}"
            for one in self.operators
            if one.fit == "refused" or (one.fit == "dropped" and not allow_non_restored)
        ]

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)

    def text(self) -> str:
        """Return a table with a row for each operator."""
        rows = [("", "operator", "uid", "state", "", "")]
        rows += [(_MARKS[one.fit], one.name, one.uid or "", one.fit, one.reason, one.hint) for one in self.operators]
        return "\n".join(text_table(rows))


def program_fit(path: str, job_graph: JobGraph, configuration: Mapping[str, str] | None = None) -> ProgramFit:
    """Compare the operators of a program with the state of a checkpoint or savepoint.

    It compares operators by id, max parallelism and types of keys. Types of states are known when a function declares
    them, so that the job compares them as it starts. It runs no code, as `inspect_savepoint`.

    Args:
        path: The directory of the checkpoint or savepoint, on any file system.
        job_graph: The program.
        configuration: Options of file systems.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at the path.
        StateFileError: a file is missing or damaged.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> _ = env.from_collection([1]).print()
        >>> program_fit(path, env.get_stream_graph().get_job_graph()).problems(allow_non_restored=False)[0][-47:]
        'its state belongs to no operator of the program'
    """
    files = SavepointFiles.inert(path, configuration)
    # `adopt_layout` changes vertices.
    job_graph = job_graph.copy()
    found = [one for vertex in job_graph.vertices for one in _fits(files, vertex)]
    present = {operator_id for vertex in job_graph.vertices for operator_id, _ in operators_of(vertex)}
    gone = [_gone(files, id_, name, layout) for id_, (name, layout) in files.operators.items() if id_ not in present]
    return ProgramFit(str(files.path), [*found, *gone])


def _fits(files: SavepointFiles, vertex: JobVertex) -> Iterator[OperatorFit]:
    for node in vertex.chain:
        operator_id = operator_ids(node)[0]  # The later ones of merged operators have no state.
        if operator_id not in files.operators:
            yield OperatorFit(operator_id, node.name, node.given_id, "new")
            continue
        states = _states(files, operator_id)
        problem = _problem(files, vertex, node)
        yield OperatorFit(operator_id, node.name, node.given_id, "refused" if problem else "fits", problem or states)


def _gone(files: SavepointFiles, operator_id: str, name: str, layout: VertexLayout) -> OperatorFit:
    is_dropped = has_state(files.metadata, layout, operator_id, files.frames)
    return OperatorFit(operator_id, name, None, "dropped" if is_dropped else "ended", _states(files, operator_id))


def _states(files: SavepointFiles, operator_id: str) -> str:
    """Return the names of an operator's states, as the first subtask that has any tells."""
    for subtask in range(files.operators[operator_id][1].parallelism):
        names = {TableName(table).state for (table, _), _ in files.deltas(operator_id, subtask)}
        names |= files.described(operator_id)
        if names:
            return ", ".join(sorted(names))
    return ""


def _problem(files: SavepointFiles, vertex: JobVertex, node: ChainedOperator) -> str:
    operator_id = operator_ids(node)[0]
    before = files.description(operator_id, TableName(OF_KEYS))
    after = _key_type(vertex, node)
    try:
        adopt_layout(vertex, files.operators[operator_id][1])
        if before and after is not None:
            check_same(f"the key of operator {node.name!r}", "type", before["key"], after)
        if isinstance(node.operator, ColumnOperator):
            _check_layout(files, operator_id, node.name, node.operator)
    except (StateRestoreError, StateMigrationError) as error:
        return str(error)
    return ""


def _check_layout(files: SavepointFiles, operator_id: str, name: str, operator: ColumnOperator) -> None:
    """Check that an operator of SQL keeps what it has kept."""
    before = files.description(operator_id, TableName(OF_LAYOUT))
    if before or has_state(files.metadata, files.operators[operator_id][1], operator_id, files.frames):
        check_layout(name, before.get("value"), operator.factory.state_layout(), operator.is_narrowed)


def _key_type(vertex: JobVertex, node: ChainedOperator) -> object:
    """Return the declared type of an operator's keys as plain data, or None if it has no keyed input."""
    for edge in vertex.inputs:
        if edge.target_node_id == node.node_id and edge.ship_strategy == "HASH":
            for sender in edge.source.producer.chain:
                if sender.node_id == edge.source_node_id:
                    last = getattr(sender.operator, "operators", (sender.operator,))[-1]
                    return type_text(getattr(last, "key_type", None), is_key=True)
    return None
