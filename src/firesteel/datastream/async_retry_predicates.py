"""Usual conditions for another try (module as `pyflink.datastream.async_retry_predicates`)."""

from __future__ import annotations

from typing import Any


def empty_result_predicate(result: list[Any]) -> bool:
    """True if there is no result."""
    return len(result) == 0


def has_exception_predicate(error: Exception) -> bool:
    """True if there is an exception."""
    return error is not None


def exception_type_predicate(error: Exception, expected_error_type: type[Exception]) -> bool:
    """True if the exception is of that type."""
    return isinstance(error, expected_error_type)
