"""What the simulations of all planes share: a seed takes the same way each time, and tells how it went.

They do not share a scheduler: the control plane runs on an event loop with virtual time, the data plane in processes
that take turns between their accesses to files, checkpoints by a queue of messages, and state batch by batch.
"""

from __future__ import annotations

import gc
import logging
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from firesteel.task import version_chains, version_store


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a seed went."""

    seed: int
    violations: tuple[str, ...]
    story: tuple[str, ...]
    steps: int


@contextmanager
def repeatable(ids: random.Random) -> Iterator[None]:
    """Take ids from a generator, and neither log nor collect garbage."""
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        with mock.patch.object(uuid, "uuid4", side_effect=lambda: uuid.UUID(int=ids.getrandbits(128), version=4)):
            yield
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


def maybe(chance: random.Random) -> Callable[..., float]:
    """Return a function that chooses how likely a fault is: as one of its arguments, or never."""
    return lambda *likely: chance.choice([0.0, *likely])
