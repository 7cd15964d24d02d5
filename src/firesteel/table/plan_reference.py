"""References to compiled plans (module as `pyflink.table.plan_reference`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from firesteel.common.files.local_path import local_path
from firesteel.table.execution.plan_execution import read_plan

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]


C = TypeVar("C", covariant=True)


class PlanReference(ABC, Generic[C]):
    """A reference to a compiled plan.

    Its static methods return a reference of the subclass for the kind of content.

    Args:
        content: Path, JSON text or Smile bytes of the plan.

    Example:
        >>> reference = PlanReference.from_file("/data/plan.json")
    """

    def __init__(self, content: C) -> None:
        self._content: C = content

    @abstractmethod
    def read(self) -> str:
        """Return the JSON text of the plan.

        Raises:
            TableException: the file can't be read.
        """

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """Return a reference to a compiled plan in a file.

        Args:
            path: Path of the file, or a `file:` URI.
        """
        return FilePlanReference(local_path(str(path)))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """Return a reference to a compiled plan.

        Args:
            json_string: The plan.
        """
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """Return a reference to a compiled plan.

        Args:
            smile_bytes: The plan in the Smile format, which can't be loaded.
        """
        return BytesContentPlanReference(smile_bytes)


class FilePlanReference(PlanReference[Path]):
    """A plan in a file."""

    def get_file(self) -> Path:
        """Return the path of the file."""
        return self._content

    def read(self) -> str:
        """Return the text of the file."""
        return read_plan(self._content)


class JsonContentPlanReference(PlanReference[str]):
    """A plan in a text."""

    def get_content(self) -> str:
        """Return the text."""
        return self._content

    def read(self) -> str:
        """Return the text."""
        return self._content


class BytesContentPlanReference(PlanReference[bytes]):
    """A plan in bytes of the Smile format."""

    def get_content(self) -> bytes:
        """Return the bytes."""
        return self._content

    def read(self) -> str:
        """Raise an error: plans are JSON."""
        raise NotImplementedError("The Smile format is not supported; use PlanReference.from_json_string()")
