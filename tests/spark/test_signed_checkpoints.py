"""A job in a cluster with a secret: all its state files are signed, from the slots to savepoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.options.state_options import RECOVERY_ALLOW_UNVERIFIED
from firesteel.errors import FiresteelError
from firesteel.task.checkpoint_metadata import checkpoints_in, read_metadata
from firesteel.task.state_file import UnverifiedStateError, check_state_file
from tests.spark.test_checkpoints import Tail
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

SECRET = "a secret of sixteen bytes or more"
PATH = "execution.state-recovery.path"


def test_checkpoints_and_savepoints_are_signed_and_others_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESTEEL_RPC_SECRET", SECRET)
    tail = Tail(tmp_path)
    tail.write("a", "b", "a")
    job = tail.start(2)
    wait_for(lambda: tail.lines().total() == 3)
    savepoint = Path(job.trigger_savepoint(str(tail.savepoints)).result())
    [directory] = tail.checkpoints.iterdir()
    [checkpoint, *_] = checkpoints_in(directory)
    files = [checkpoint / "_metadata", *directory.glob("versions-*/*/*/*"), *savepoint.rglob("*")]
    found = [path for path in files if path.is_file()]
    assert len(found) >= 5
    assert all(check_state_file(path) for path in found)
    with pytest.raises(UnverifiedStateError):
        read_metadata(savepoint)
    job.cancel_and_wait()

    tail.write("a")
    same = tail.start(3, **{PATH: str(savepoint)})
    wait_for(lambda: tail.lines()["a 3"] == 1)
    same.cancel_and_wait()

    monkeypatch.setenv("FIRESTEEL_RPC_SECRET", SECRET[::-1])
    refused = tail.start(2, **{PATH: str(savepoint)})
    with pytest.raises(FiresteelError, match="secret of another cluster"):
        refused.get_job_execution_result().result()
    tail.write("b")
    allowed = tail.start(2, **{PATH: str(savepoint), RECOVERY_ALLOW_UNVERIFIED.key: "true"})
    wait_for(lambda: tail.lines()["b 2"] == 1)
    allowed.cancel_and_wait()
