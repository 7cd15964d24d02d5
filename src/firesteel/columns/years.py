"""The years of dates and times, which are those of Python: 1 to 9999."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from firesteel.errors import FiresteelError

__all__ = ["OutOfYearsError", "within_years"]

P = ParamSpec("P")
R = TypeVar("R")


class OutOfYearsError(FiresteelError, ValueError):
    """A date or time is before the year 1 or after 9999."""

    def __str__(self) -> str:
        return "a date or time is outside of the years 1 to 9999, which are those that firesteel supports"


def within_years(compute: Callable[P, R]) -> Callable[P, R]:
    """Return a function of dates and times that raises `OutOfYearsError` where Python has none for its result."""

    def computed(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return compute(*args, **kwargs)
        except (OverflowError, ValueError) as error:
            if isinstance(error, FiresteelError | UnicodeError):
                raise
            raise OutOfYearsError from error

    return computed
