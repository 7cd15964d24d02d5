"""Metadata of savepoints."""

from __future__ import annotations

import pickle

from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState, VertexLayout
from firesteel.task.versions import VersionFile


def savepoint_of(*files: str, is_savepoint: bool = True) -> CheckpointMetadata:
    """The metadata of a savepoint, or checkpoint, that has these files."""
    return CheckpointMetadata(
        checkpoint_id=1,
        timestamp_ms=0,
        job_id="0" * 32,
        job_name="job",
        is_savepoint=is_savepoint,
        vertices=(VertexLayout("0" * 32, "count", 0, 0, 1, 128, (("0" * 32, "count"),)),),
        regions=(
            RegionState(
                batch_id=0,
                chains={(0, slot): (VersionFile(name, 1, {"0" * 32: 1}),) for slot, name in enumerate(files)},
                sources=pickle.dumps({}),
                committables=pickle.dumps([]),
                next_time=None,
            ),
        ),
    )
