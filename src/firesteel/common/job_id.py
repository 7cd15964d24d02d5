"""Ids of jobs (module as `pyflink.common.job_id`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["JobID"]


@dataclass(frozen=True, slots=True)
class JobID:
    """The id of a submitted job: 32 hexadecimal digits, which `str()` returns.

    Attributes:
        value: The digits as text; neither length nor characters are checked.

    Example:
        >>> str(JobID("fd72014d4c864993a2e5a9287b4a9c5d"))
        'fd72014d4c864993a2e5a9287b4a9c5d'
    """

    value: str

    def __str__(self) -> str:
        return self.value
