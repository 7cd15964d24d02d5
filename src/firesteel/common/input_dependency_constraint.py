"""Input dependency constraints (module as `pyflink.common.input_dependency_constraint`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether any or all inputs must be consumable before a task is scheduled."""

    ANY = 0
    ALL = 1
