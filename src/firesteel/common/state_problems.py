"""Why a look-up in the state of a running job has no answer."""

from __future__ import annotations

from enum import Enum


class StateProblem(Enum):
    """The kinds of problems; the values go over the wire."""

    NOT_RUNNING = "not running"
    NO_OPERATOR = "no operator"
    NO_STATE = "no state"
    WRONG_KEY = "wrong key"
    NO_JSON = "no json"

    @property
    def may_pass(self) -> bool:
        """Whether a later look-up may succeed."""
        return self in (StateProblem.NOT_RUNNING, StateProblem.NO_OPERATOR)
