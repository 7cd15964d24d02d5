"""The version files of a job: those of the current version, and those that are no longer needed.

Only the coordinator removes files, and only files that no decision can refer to: files superseded by its own run and,
after a checkpoint of its run was decided, leftovers of other tries and earlier runs. From then on no earlier run can
decide anything, because its checkpoint would not be the next one.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from firesteel.common.files.remote_path import RemotePath
from firesteel.task.version_store import region_directory, runs_in, shown_in, versions_of
from firesteel.task.versions import Chain, VersionFile

Chains = Mapping[tuple[int, int], Chain]
"""(stage, slot) -> the files of its version."""

_NAME = re.compile(r"(\d+)-(\d+)\.(?:full|delta)")
_STORED = re.compile(r"versions-(\d+)/(?:claim|.*/(\d+)-\d+\.(?:full|delta))")


class VersionFiles:
    """The reference counts of a region's files: by the current version and each retained checkpoint.

    Args:
        directory: The job's directory on this host.
        region: Number of the pipelined region.
        store: The directory of its checkpoints, if it is on a remote file system.

    Attributes:
        present: The version of each slot after the last accepted batch.
        stored: The files that are in the remote store.

    Files that a checkpoint needs are in the store, too, if it is a remote one: they are removed there with the last
    checkpoint that needs them.
    """

    def __init__(self, directory: Path, region: int, store: RemotePath | None = None) -> None:
        self._directory = directory
        self._region = region
        self._of_region = region_directory(directory, region)
        self._needed: Counter[str] = Counter()
        self._store = store
        self._garbage: list[str] = []
        self.stored: set[str] = set()
        self.present: dict[tuple[int, int], Chain] = {}

    def begin_with(self, chains: Chains) -> None:
        """Set the version that a run starts from."""
        for slot, chain in chains.items():
            self._advance(slot, chain)

    def advance(self, chains: Chains) -> list[VersionFile]:
        """Set the versions after a batch, remove the files that they replace, and return the new files."""
        return [file for slot, chain in chains.items() for file in self._advance(slot, chain)]

    def _advance(self, slot: tuple[int, int], chain: Chain) -> list[VersionFile]:
        before = {file.path for file in self.present.get(slot, ())}
        new = [file for file in chain if file.path not in before]
        self.present[slot] = chain
        self._needed.update(file.path for file in new)
        self._release(before - {file.path for file in chain})
        return new

    def keep(self, chains: Chains) -> None:
        """Retain the files of a checkpoint."""
        self._needed.update(_paths(chains))

    def drop(self, chains: Chains) -> None:
        """Release the files of a checkpoint."""
        self._release(_paths(chains))

    def _release(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._needed[path] -= 1
            if self._needed[path] <= 0:
                del self._needed[path]
                (self._directory / path).unlink(missing_ok=True)
                if path in self.stored:
                    self.stored.discard(path)
                    self._garbage.append(path)

    def unstored(self, chain: Chain) -> tuple[str, ...]:
        """Return the files of a chain that are not in the store."""
        return tuple(file.path for file in chain if file.path not in self.stored)

    def take_garbage(self) -> list[str]:
        """Return the paths of files in the store that were released since the last call."""
        garbage, self._garbage = self._garbage, []
        return [f"{self._store}/{path}" for path in garbage]

    def _sweep_store(self, run: int, batch_id: int) -> None:
        if self._store is None:
            return
        for path in region_directory(self._store, self._region).files():
            found = _STORED.fullmatch(path)
            # A later run owns the job now, and its files are not known here.
            if found is None or int(found[1]) > run:
                continue
            is_of_run = int(found[1]) == run
            name = f"region-{self._region}/{path}" if self._region else path
            # The claim of its own run (no batch) stays: the number must not be claimed again.
            is_over = not is_of_run or (found[2] is not None and int(found[2]) <= batch_id)
            if is_over and name not in self._needed:
                self.stored.discard(name)
                self._garbage.append(name)

    def sweep(self, run: int, batch_id: int) -> None:
        """Remove unneeded files of earlier runs, and of this run's batches up to `batch_id`.

        Call it only after a checkpoint of the run was decided.
        """
        self._sweep_store(run, batch_id)
        for number, versions in runs_in(self._of_region).items():
            if number <= run:
                self._sweep(versions, batch_id if number == run else None)
                # The batch's output was delivered before its checkpoint, and the next batch has not begun.
                shutil.rmtree(shown_in(self._of_region, number), ignore_errors=True)
        for unfinished in self._directory.glob(f".chk-*.{self._region}-*"):
            if int(unfinished.name.rpartition("-")[2]) < run:
                shutil.rmtree(unfinished, ignore_errors=True)

    def remove_runs_before(self, run: int) -> bool:
        """Remove unneeded directories of earlier runs; return whether none is left."""
        earlier = {number: path for number, path in runs_in(self._of_region).items() if number < run}
        # A path ends with `versions-<run>/<stage>/<slot>/<file>`.
        needed = {(self._directory / path).parents[2] for path in self._needed} if earlier else set()
        for path in earlier.values():
            if path not in needed:
                shutil.rmtree(path, ignore_errors=True)
        return needed.isdisjoint(earlier.values())

    def remove_empty_runs_before(self, run: int) -> None:
        """Remove empty directories of earlier runs; the caller has claimed `run`.

        An earlier run that is still active then fails to write its version, as intended: it was superseded.
        """
        for number, versions in runs_in(self._of_region).items():
            if number < run:
                with suppress(OSError):  # The directory is not empty.
                    versions.rmdir()

    def abandon(self, run: int) -> None:
        """Remove the files of a run that ends before its first checkpoint, as nothing else can refer to them.

        The directory stays: it keeps the number of the run from being used again.
        """
        with suppress(FileNotFoundError):
            for path in versions_of(self._of_region, run).iterdir():
                shutil.rmtree(path, ignore_errors=True)

    def _sweep(self, versions: Path, last_batch: int | None) -> None:
        for path in versions.glob("*/*/*"):
            found = _NAME.fullmatch(path.name)
            is_over = found is not None and (last_batch is None or int(found[1]) <= last_batch)
            if is_over and str(path.relative_to(self._directory)) not in self._needed:
                with suppress(OSError):
                    path.unlink()


def _paths(chains: Chains) -> list[str]:
    return [file.path for chain in chains.values() for file in chain]
