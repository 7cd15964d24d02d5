"""Common retry conditions (module as `pyflink.datastream.async_retry_predicates`)."""

from __future__ import annotations

from typing import Any


def empty_result_predicate(result: list[Any]) -> bool:
    """Return whether the result is empty."""
    return len(result) == 0


def has_exception_predicate(error: Exception) -> bool:
    """Return whether there is an exception."""
    return error is not None


def exception_type_predicate(error: Exception, expected_error_type: type[Exception]) -> bool:
    """Return whether the exception is an instance of the given type."""
    return isinstance(error, expected_error_type)
