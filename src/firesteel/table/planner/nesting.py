"""The message for statements that are nested too deeply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from firesteel.common.table_errors import ValidationException


@contextmanager
def refused_if_too_deep() -> Iterator[None]:
    """Refuse a statement whose parts are nested more deeply than Python's calls may be.

    Raises:
        ValidationException: it is nested too deeply.
    """
    try:
        yield
    except RecursionError:
        raise ValidationException(
            "The statement is nested too deeply. Chains of AND and OR, and lists of IN, may be of any length; divide "
            "other long chains of operators, or parentheses in parentheses, between several views or columns."
        ) from None
