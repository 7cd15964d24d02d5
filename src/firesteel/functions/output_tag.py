"""Tags of side outputs (module as `pyflink.datastream.output_tag`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, overload

from firesteel.common.type_classes.type_information import checked_type
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation, Types
from firesteel.common.types import Row

__all__ = ["OutputTag"]


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers bundle it; it is not needed at run time

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


class OutputTag(Generic[T]):
    """The name of a side output and the type of its records; a function yields `(tag, value)` to write to it.

    Args:
        tag_id: Name of the side output, unique within the operator.
        type_info: Type of the elements; None pickles them.

    Example:
        >>> late = OutputTag("late", Types.STRING())
    """

    type_info: TypeInformation[Any]

    def __init_subclass__(cls) -> NoReturn:
        # Results are compared with the class itself, so that pairs of an object of another one would be results.
        raise TypeError("OutputTag has no subclasses; make an object, such as OutputTag('late', Types.STRING())")

    @overload
    def __init__(self, tag_id: str, type_info: None = None) -> None: ...

    @overload
    def __init__(self: OutputTag[Row], tag_id: str, type_info: list[TypeInformation[Any]]) -> None: ...

    @overload
    def __init__(self, tag_id: str, type_info: TypeInformation[T]) -> None: ...

    def __init__(self, tag_id: str, type_info: TypeInformation[Any] | list[TypeInformation[Any]] | None = None) -> None:
        if not tag_id:
            raise ValueError("OutputTag: tag_id must not be empty")
        self.tag_id = tag_id
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = RowTypeInfo(type_info)
        else:
            self.type_info = checked_type(type_info)

    def __eq__(self, other: object) -> bool:
        # Without the type, as in Flink's `OutputTag.equals`: programs make a tag anew where they read the side output.
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id}, {self.type_info})"


SideOutput = tuple[OutputTag[Any], Any]
"""The pair that a function yields to write to a side output: the tag and the value."""
