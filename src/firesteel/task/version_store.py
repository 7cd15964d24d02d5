"""The versions of one slot's subtasks in the checkpoint directory: one file per stage, slot and batch.

`<directory>/<stage>/<slot>/<batch>.delta` holds what changed in the batch, `<batch>.full` everything. A file appears
under its name only when it is complete.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from firesteel.operators.buffers import pickled
from firesteel.operators.subtask import Version

_FULL_EVERY = 10
"""A full version follows so many deltas, so that a restart reads few files."""


class VersionStore:
    """Writes and reads the versions of one slot."""

    def __init__(self, directory: str, slot: int) -> None:
        self._directory = Path(directory)
        self._slot = slot

    def _stage(self, stage: int) -> Path:
        return self._directory / str(stage) / str(self._slot)

    def wants_full(self, batch_id: int) -> bool:
        """True if the version of this batch is to be a full one."""
        return batch_id % _FULL_EVERY == 0

    def write(self, stage: int, batch_id: int, versions: dict[str, Version]) -> None:
        """Write the version of a batch: vertex id -> version of the subtask."""
        kind = "full" if self.wants_full(batch_id) else "delta"
        path = self._stage(stage) / f"{batch_id}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{kind}.{os.getpid()}.tmp")
        temporary.write_bytes(pickled(versions))
        temporary.replace(path)
        if kind == "full":
            self._forget_before(stage, batch_id - _FULL_EVERY)

    def _forget_before(self, stage: int, batch_id: int) -> None:
        """Remove versions that no replay needs, before the last full one but one, and half-written ones."""
        for path in self._stage(stage).iterdir():
            if int(path.name.split(".")[0]) < batch_id:
                path.unlink()

    def read(self, stage: int, batch_id: int) -> list[dict[str, Version]]:
        """The versions to apply, oldest first, to be at the end of `batch_id`; empty before the first batch.

        Raises:
            FileNotFoundError: a version is missing.
        """
        if batch_id < 0:
            return []
        first = batch_id - batch_id % _FULL_EVERY
        names = [f"{first}.full", *(f"{batch}.delta" for batch in range(first + 1, batch_id + 1))]
        return [pickle.loads((self._stage(stage) / name).read_bytes()) for name in names]
