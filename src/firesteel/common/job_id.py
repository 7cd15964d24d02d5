"""Ids of jobs (module as `pyflink.common.job_id`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["JobID"]


@dataclass(frozen=True, slots=True)
class JobID:
    """The id of a submitted job: 32 hexadecimal digits, which `str()` returns."""

    value: str

    def __str__(self) -> str:
        return self.value
