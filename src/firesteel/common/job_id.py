"""Names of jobs (module as `pyflink.common.job_id`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["JobID"]


@dataclass(frozen=True, slots=True)
class JobID:
    """32 hexadecimal digits that name one submitted job; `str()` gives them."""

    value: str

    def __str__(self) -> str:
        return self.value
