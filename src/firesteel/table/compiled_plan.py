"""Compiled plans (module as `pyflink.table.compiled_plan`); not supported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.table.table_result import TableResult

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """A compiled plan; not supported, as plans are created whenever a statement runs.

    Args:
        plan: Not used.
        t_env: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> CompiledPlan()
        Traceback (most recent call last):
            ...
        NotImplementedError: ...
    """

    def __init__(self, plan: object = None, t_env: object = None) -> None:
        raise _refused()

    def as_json_string(self) -> str:
        """Return the plan as JSON."""
        raise _refused()

    def as_smile_bytes(self) -> bytes:
        """Return the plan in the Smile format."""
        raise _refused()

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Write the plan to a file.

        Args:
            file: Only named for compatibility.
            ignore_if_exists: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise _refused()

    def get_flink_version(self) -> str:
        """Return the version of Flink that made the plan."""
        raise _refused()

    def print_json_string(self) -> None:
        """Print the plan as JSON."""
        raise _refused()

    def execute(self) -> TableResult:
        """Run the plan."""
        raise _refused()

    def explain(self, *extra_details: int) -> str:
        """Return how the plan is run.

        Args:
            extra_details: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise _refused()

    def print_explain(self, *extra_details: int) -> None:
        """Print how the plan is run.

        Args:
            extra_details: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise _refused()


def _refused() -> NotImplementedError:
    return NotImplementedError("Compiled plans are not supported; execute the statement instead")
