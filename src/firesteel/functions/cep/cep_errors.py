"""The error of patterns that make no sense."""

from __future__ import annotations

from firesteel.errors import InvalidProgramError

__all__ = ["MalformedPatternError"]


class MalformedPatternError(InvalidProgramError):
    """A pattern that cannot be matched, or a call that its part does not allow (Flink: `MalformedPatternException`)."""
