"""Kernels that tests run, restore and run on."""

from __future__ import annotations

import pickle

from firesteel.columns.kernel import KernelContext
from firesteel.columns.rows import kinds_list, rows_of
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.spilling import FixedSpill


class KernelRun:
    """A kernel with a manual clock; `restore` continues in another."""

    def __init__(self, make, ttl_ms=0, is_on_disk=False, now=0):
        self.make, self.ttl_ms, self.is_on_disk, self.emitted, self.now = make, ttl_ms, is_on_disk, [], now
        self.start([])

    def start(self, deltas):
        self.backend, self.kernel = KeyedStateBackend(None, 8), self.make()
        for delta in deltas:
            self.backend.load(pickle.loads(pickle.dumps(delta)))
        self.kernel.open(
            KernelContext(
                True,
                8,
                self.backend.table,
                self.emitted.append,
                None,
                lambda: self.now,
                state_ttl_ms=self.ttl_ms,
                new_spill=(lambda: FixedSpill(100)) if self.is_on_disk else None,
            )
        )

    def restore(self):
        self.kernel.flush()
        self.start(list(self.backend.full()))

    def give(self, batch):
        self.kernel.process(0, batch)
        found = [change for part in self.emitted for change in zip(kinds_list(part), rows_of(part), strict=True)]
        self.emitted.clear()
        return found
