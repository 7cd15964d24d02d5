"""Kinds of results (module as `pyflink.table.result_kind`)."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """The kind of a result: only success (`OK`), or rows."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
