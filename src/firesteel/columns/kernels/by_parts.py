"""Kernels with keys in BATCH mode, whose inputs and state may be larger than memory.

Their rows wait until the end of input. If they have no room in memory, they are in a file by then, in parts by key; a
kernel of its own processes each part.

Why: `docs/decisions/0062-batch-jobs-read-late-and-in-parts.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.kernel import Kernel, KernelContext, KernelFactory, StateTable
from firesteel.columns.kernels.rows.spilled_rows import BoundedInputs
from firesteel.columns.state_layout import STATELESS, Layout

if TYPE_CHECKING:
    from firesteel.common.encoding.entry_columns import ColumnSource

__all__ = ["ByPartsFactory"]

_COPIES = 4
"""How often rows are in memory while a part is processed: as they came, in one batch, as state, and as results."""


@dataclass(frozen=True)
class ByPartsFactory:
    """Plan of a kernel that is run part by part.

    Attributes:
        factory: The plan of the kernel, which emits all results at the end of a bounded input.
        keys: The key columns of each input. Rows with different keys are processed independently of each other.
    """

    factory: KernelFactory
    keys: tuple[tuple[int, ...], ...]

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return ByParts(self)


class ByParts(Kernel):
    """Runs a kernel over all rows at the end of input, or over one part of them after the other."""

    def __init__(self, plan: ByPartsFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Prepare to keep rows."""
        super().open(context)
        self._inputs = BoundedInputs(self._plan.keys, context.configuration, _COPIES)

    def close(self) -> None:
        """Remove the files."""
        self._inputs.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows."""
        self._inputs.add(index, batch)

    def end(self) -> None:
        """Run the kernel."""
        for parts in self._inputs.parts():
            kernel = self._plan.factory.make()
            # A kernel of its own for each part, whose state is then gone; a part has room in memory.
            kernel.open(replace(self.context, table=_Tables().table, new_spill=None))
            try:
                for index, part in enumerate(parts):
                    for batch in part.batches:
                        kernel.process(index, batch)
                    kernel.end_input(index)
                kernel.end()
            finally:
                kernel.close()


class _Table:
    """A state table of a bounded job: no version of it is written."""

    def __init__(self) -> None:
        self.data: MutableMapping[Cell, Cell] = {}
        self.source: ColumnSource | None = None

    def prefetch(self, entries: Iterable[object]) -> None:
        """Do nothing: all entries are in memory."""

    def put(self, entry: object, value: object) -> None:
        self.data[entry] = value

    def put_all(self, entries: Sequence[object], values: Sequence[object]) -> None:
        self.data.update(zip(entries, values, strict=True))

    def append(self, entry: object, elements: list[Cell]) -> None:
        self.data.setdefault(entry, []).extend(elements)

    def remove(self, entry: object) -> None:
        self.data.pop(entry, None)


class _Tables:
    """The state tables of one part, by name."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}

    def table(self, name: str) -> StateTable:
        return self._tables.setdefault(name, _Table())
