"""Kinds of results (module as `pyflink.table.result_kind`)."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """Whether a statement only succeeded, with `OK`, or has rows to show."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
