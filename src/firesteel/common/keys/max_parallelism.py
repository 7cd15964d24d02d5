"""The limits of the number of key groups, which is the max parallelism."""

from __future__ import annotations

__all__ = ["UPPER_BOUND_MAX_PARALLELISM", "check_max_parallelism"]

UPPER_BOUND_MAX_PARALLELISM = 32768


def check_max_parallelism(max_parallelism: int) -> None:
    """Check a max parallelism that a program sets.

    Raises:
        ValueError: it is less than 1 or more than 32768.
    """
    if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
        raise ValueError(f"Max parallelism must be within 1..{UPPER_BOUND_MAX_PARALLELISM}, found {max_parallelism}")
