"""The nodes that join two inputs. See `rel.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import Rex
from firesteel.connectors.table_connector import Lookup, ResolvedTable

if TYPE_CHECKING:
    from firesteel.table.planner.rel.rel import Rel


class TwoInputs:
    """Base of nodes with a left and a right input."""

    __slots__ = ()
    left: Rel
    right: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Join(TwoInputs):
    """A join of two inputs. `kind` is INNER, LEFT, RIGHT, FULL, SEMI or ANTI.

    Attributes:
        left_keys: Columns that must equal `right_keys` (indexes within each input).
        condition: The remaining condition over the columns of both inputs, or None.
        null_aware: Whether it implements NOT IN: a NULL key on the right makes the result empty.
        state_ttl: The time to live of each input's state, as the hint STATE_TTL gives it; None for that of the job.
        keeps_times: Whether time attributes remain such in its columns, since its condition bounds the rows by time or
            window: `join_kinds` makes interval and window joins of such joins. None: as resolved, without keys.
        broadcast: The input all of whose rows are sent to each subtask, `left` or `right`; None: both are shuffled.
    """

    left: Rel
    right: Rel
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Rex | None
    row_type: RowType
    null_aware: bool = False
    state_ttl: tuple[str | None, str | None] = (None, None)
    keeps_times: bool | None = False
    broadcast: str | None = None


class OfJoin:
    """Base of joins with more than a condition: what bounds their state stands beside the plain join."""

    __slots__ = ()
    join: Join

    @property
    def row_type(self) -> RowType:
        """Return the columns of both inputs."""
        return self.join.row_type

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return self.join.inputs


@dataclass(frozen=True, slots=True, eq=False)
class IntervalJoin(OfJoin):
    """A join on bounded time differences: `low <= left - right <= high` (ms)."""

    join: Join
    left_time: int
    right_time: int
    low: int
    high: int
    is_rowtime: bool


@dataclass(frozen=True, slots=True, eq=False)
class TemporalJoin(OfJoin):
    """A join of each left row with the version of the right input that was valid at its time: FOR SYSTEM_TIME AS OF.

    Attributes:
        left_time: Index of the time attribute of the left input.
        right_time: Index of the rowtime of the right input; None if it has none, which does not run.
    """

    join: Join
    left_time: int
    right_time: int | None


@dataclass(frozen=True, slots=True, eq=False)
class LookupJoin:
    """A join of each left row with the rows that a connector finds for its keys."""

    left: Rel
    table: ResolvedTable
    lookup: Lookup
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Rex | None
    row_type: RowType

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return the left input."""
        return (self.left,)


@dataclass(frozen=True, slots=True, eq=False)
class WindowJoin(OfJoin):
    """A join of rows in the same window; `left_window` and `right_window` are the indexes of start and end."""

    join: Join
    left_window: tuple[int, int]
    right_window: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class SetOperation(TwoInputs):
    """INTERSECT or EXCEPT, with or without ALL, over all columns."""

    left: Rel
    right: Rel
    kind: str
    all: bool
    row_type: RowType
