"""What a format does with values without parts, by their declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from firesteel.common.typeinfo import BasicType, BasicTypeInfo, LocalTimeTypeInfo, TypeInformation

T = TypeVar("T")


@dataclass(frozen=True)
class ScalarTypes(Generic[T]):
    """A table by declared type.

    Attributes:
        basic: For basic types.
        local: For the times of `java.time`.
        others: For further classes of types.
    """

    basic: Mapping[BasicType, T]
    local: Mapping[LocalTimeTypeInfo.TimeType, T]
    others: Sequence[tuple[type, T]]

    def of(self, type_info: TypeInformation[Any]) -> T | None:
        """Return the entry of a type, None: it has none."""
        if isinstance(type_info, BasicTypeInfo):
            return self.basic[type_info.basic_type]
        if isinstance(type_info, LocalTimeTypeInfo):
            return self.local[type_info.time_type]
        return next((found for kind, found in self.others if isinstance(type_info, kind)), None)
