"""References to compiled plans (module as `pyflink.table.plan_reference`)."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]


C = TypeVar("C")


class PlanReference(Generic[C]):
    """A reference to a compiled plan.

    Its static methods return a reference of the subclass for the kind of content.

    Args:
        content: Path, JSON text or Smile bytes of the plan; neither read nor parsed.

    Example:
        >>> reference = PlanReference.from_file("/data/plan.json")
    """

    def __init__(self, content: C) -> None:
        self._content: C = content

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """Return a reference to a compiled plan in a file.

        Args:
            path: Path of the file, which is not read.
        """
        return FilePlanReference(Path(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """Return a reference to a compiled plan.

        Args:
            json_string: The plan, which is not parsed.
        """
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """Return a reference to a compiled plan.

        Args:
            smile_bytes: The plan in the Smile format, which is not parsed.
        """
        return BytesContentPlanReference(smile_bytes)


class FilePlanReference(PlanReference[Path]):
    """A plan in a file."""

    def get_file(self) -> Path:
        """Return the path of the file."""
        return self._content


class JsonContentPlanReference(PlanReference[str]):
    """A plan in a text."""

    def get_content(self) -> str:
        """Return the text."""
        return self._content


class BytesContentPlanReference(PlanReference[bytes]):
    """A plan in bytes of the Smile format."""

    def get_content(self) -> bytes:
        """Return the bytes."""
        return self._content
