"""A seed: it takes the same way each time, and tells what happened and what was wrong."""

from __future__ import annotations

import functools
import gc
import logging
import os
import random
import secrets
import tempfile
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from firesteel.task import version_chains, version_store

_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""A file system in memory, if there is one."""


class ViolationError(Exception):
    """Something happened that must not. Ends the seed."""


class Seed:
    """One seed under way, or at its end.

    Attributes:
        number: Decides everything that is left to chance.
        chance: Makes these decisions.
        now: Returns the simulated time, for the story.
        story: What happened, for the analysis of a failing seed.
        violations: What was wrong; empty if nothing was.
        steps: How many steps there were.
        most_steps: The number of steps after which it fails.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.chance = random.Random(number)
        self.now: Callable[[], str] = lambda: str(self.steps)
        self.story: list[str] = []
        self.violations: list[str] = []
        self.steps = 0
        self.most_steps = 0
        self._directory = ""

    def further(self, offset: int) -> random.Random:
        """Return another generator. What it decides leaves the decisions of `chance` as they are."""
        return random.Random(self.number + offset)

    def likely(self, *chances: float) -> float:
        """Choose how likely a fault is in this seed: as one of the arguments, or never."""
        return self.chance.choice([0.0, *chances])

    def log(self, text: str) -> None:
        """Add an event to the story."""
        told = f"{self.now()} {text}"
        self.story.append(told.replace(self._directory, "") if self._directory else told)

    def violated(self, text: str) -> None:
        """Record that something is wrong, and go on."""
        self.log(f"VIOLATED: {text}")
        self.violations.append(text)

    def failed(self, error: BaseException) -> None:
        """Record an error as a violation."""
        self.violated(str(error) if isinstance(error, ViolationError) else f"{type(error).__name__}: {error}")
        self.story += traceback.format_exception(error)

    def step(self) -> None:
        """Count a step.

        Raises:
            ViolationError: it is one too many.
        """
        self.steps += 1
        if self.steps > self.most_steps:
            raise ViolationError(f"no end after {self.most_steps} steps")

    @contextmanager
    def directory(self) -> Iterator[Path]:
        """Make a temporary directory, whose name the story leaves out."""
        with tempfile.TemporaryDirectory(
            prefix="firesteel-simulated-", dir=_MEMORY, ignore_cleanup_errors=True
        ) as name:
            self._directory = f"{name}/"
            yield Path(name)


def simulation(run: Callable[[Seed], object]) -> Callable[[int], Seed]:
    """Turn a function that runs a seed into one from the number of a seed to the seed at its end.

    A number takes the same way each time, with the same PYTHONHASHSEED. What the function raises is a violation.
    """

    @functools.wraps(run)
    def simulate(number: int) -> Seed:
        seed = Seed(number)
        with _repeatable(seed):
            try:
                run(seed)
            except Exception as error:
                seed.failed(error)
        return seed

    return simulate


@contextmanager
def _repeatable(seed: Seed) -> Iterator[None]:
    """Take ids from a generator, and neither log nor collect garbage."""
    ids = seed.further(1)
    random.seed(seed.number + 2)  # The jitter of restart delays.
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        with (
            warnings.catch_warnings(),
            mock.patch.object(uuid, "uuid4", side_effect=lambda: uuid.UUID(int=ids.getrandbits(128), version=4)),
            mock.patch.object(secrets, "token_hex", lambda size: f"{ids.getrandbits(8 * size):0{2 * size}x}"),
        ):
            # Killed processes do not close their files, and leave coroutines that were never awaited.
            warnings.simplefilter("ignore", ResourceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
            gc.collect()  # What a seed leaves are circles.
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


@contextmanager
def merging_early(longest_chain: int) -> Iterator[None]:
    """Merge deltas after three files instead of eight, since seeds have few batches.

    Args:
        longest_chain: The version after which state is written in full.
    """
    with (
        mock.patch.object(version_chains, "FAN_IN", 3),
        mock.patch.object(version_store, "is_full_due", lambda parent: not parent or len(parent) > longest_chain),
    ):
        yield
