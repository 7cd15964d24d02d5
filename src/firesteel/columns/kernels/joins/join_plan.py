"""The plan of a join, shared by all kinds of joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.kernel import KernelContext
from firesteel.columns.rex import Rex
from firesteel.columns.state_layout import Layout, rows_layout

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType
    from firesteel.columns.settings import QuerySettings


@dataclass(frozen=True)
class JoinPlan:
    """The plan of a join.

    Attributes:
        kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI.
        keys: The columns of both inputs that must be equal.
        condition: A further condition on the columns of both inputs.
        left_types: Logical types of the left input's columns.
        right_types: Logical types of the right input's columns.
        null_aware: Whether NULL keys follow the rules of NOT IN.
        has_updates: Whether an input of a stream contains rows other than inserts.
        state_ttl_ms: The time to live of each input's state, from the hint STATE_TTL; None for that of the job.
        broadcast: The input of which each subtask has all rows, as it is small; None if there is none.
        unique: The columns of each input by which its rows replace others, maybe without `-U`; None if they do not.
    """

    kind: str
    keys: tuple[tuple[int, ...], tuple[int, ...]]
    condition: Rex | None
    left_types: tuple[DataType, ...]
    right_types: tuple[DataType, ...]
    settings: QuerySettings
    null_aware: bool = False
    has_updates: bool = True
    state_ttl_ms: tuple[int | None, int | None] = (None, None)
    broadcast: int | None = None
    unique: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)

    def state_layout(self, kind: str) -> Layout:
        """Return the layout of the state of a kind of joins."""
        sides = zip((self.left_types, self.right_types), self.keys, strict=True)
        return tuple(part for types, keys in sides for part in rows_layout(f"{self.kind} {kind}", types, keys))

    @property
    def is_semi(self) -> bool:
        """Whether the results are rows of the left input."""
        return self.kind in ("SEMI", "ANTI")

    @property
    def outer(self) -> tuple[bool, bool]:
        """Return for each input whether its rows without a match are emitted with NULLs for the other."""
        return self.kind in ("LEFT", "FULL"), self.kind in ("RIGHT", "FULL")

    def ttls_ms(self, context: KernelContext) -> tuple[int, int]:
        """Return the time to live of each input's state; 0 means no expiry."""
        left, right = (context.state_ttl_ms if ttl is None else ttl for ttl in self.state_ttl_ms)
        return left, right
