"""Windows of the Table API (module as `pyflink.table.window`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.syntax.unresolved import CURRENT, Alias, Apply, Lit, Ordering, Unresolved, WindowSpec

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


class GroupWindow:
    """A window for `Table.window`: an `Alias` around a call of TUMBLE, HOP or SESSION.

    `alias` of a tumbling, sliding or session window returns it.

    Example:
        >>> isinstance(Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w"), GroupWindow)
        True
    """

    def __init__(self, node: Alias) -> None:
        self._node = node


class Tumble:
    """Tumbling windows: consecutive windows of a fixed size.

    Example:
        >>> window = Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """Begin a tumbling window.

        Args:
            size: Length of the windows, such as `lit(10).minutes`, or `row_interval(5)` for a number of rows.
        """
        return TumbleWithSize(node_of(size))


class TumbleWithSize:
    """A tumbling window that needs its time attribute.

    `Tumble.over` returns it; continue with `on`.
    """

    def __init__(self, size: Unresolved) -> None:
        self._size = size

    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """Set the time attribute.

        Args:
            time_field: A time attribute; it also orders the rows of a window with a number of rows.
        """
        return TumbleWithSizeOnTime(Apply("TUMBLE", (node_of(time_field), self._size)))


class _OnTime:
    def __init__(self, call: Apply) -> None:
        self._call = call

    def alias(self, alias: str) -> GroupWindow:
        """Name the window.

        Args:
            alias: Name by which `group_by` and `select` refer to the window.
        """
        return GroupWindow(Alias(self._call, (alias,)))


class TumbleWithSizeOnTime(_OnTime):
    """A tumbling window that needs its name."""


class Slide:
    """Sliding windows: windows of a fixed size that start at a fixed interval.

    Example:
        >>> window = Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """Begin a sliding window.

        Args:
            size: Length of the windows, such as `lit(10).minutes`, or `row_interval(5)` for a number of rows.
        """
        return SlideWithSize(node_of(size))


class SlideWithSize:
    """A sliding window that needs its slide.

    `Slide.over` returns it; continue with `every`.
    """

    def __init__(self, size: Unresolved) -> None:
        self._size = size

    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """Set the slide, which is the interval between the beginnings of two windows.

        Args:
            slide: Interval of the same kind as the size; windows overlap if it is less than the size.
        """
        return SlideWithSizeAndSlide(self._size, node_of(slide))


class SlideWithSizeAndSlide:
    """A sliding window that needs its time attribute.

    `SlideWithSize.every` returns it; continue with `on`.
    """

    def __init__(self, size: Unresolved, slide: Unresolved) -> None:
        self._size = size
        self._slide = slide

    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        """Set the time attribute.

        Args:
            time_field: A time attribute; it also orders the rows of a window with a number of rows.
        """
        return SlideWithSizeAndSlideOnTime(Apply("HOP", (node_of(time_field), self._size, self._slide)))


class SlideWithSizeAndSlideOnTime(_OnTime):
    """A sliding window that needs its name."""


class Session:
    """Session windows, which end after a time without rows.

    Example:
        >>> window = Session.with_gap(lit(10).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """Begin a session window.

        Args:
            gap: Time without rows that ends a window, such as `lit(30).minutes`.
        """
        return SessionWithGap(node_of(gap))


class SessionWithGap:
    """A session window that needs its time attribute.

    `Session.with_gap` returns it; continue with `on`.
    """

    def __init__(self, gap: Unresolved) -> None:
        self._gap = gap

    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        """Set the time attribute.

        Args:
            time_field: A time attribute.
        """
        return SessionWithGapOnTime(Apply("SESSION", (node_of(time_field), self._gap)))


class SessionWithGapOnTime(_OnTime):
    """A session window that needs its name."""


class OverWindow:
    """A window for `Table.over_window`: its name and a `WindowSpec`.

    `alias` of an over window returns it.

    Example:
        >>> window = Over.order_by(col("rowtime")).preceding(lit(1).minutes).alias("w")
        >>> isinstance(window, OverWindow)
        True
    """

    def __init__(self, name: str, spec: WindowSpec) -> None:
        self._name = name
        self._spec = spec


class Over:
    """Over windows: the rows around each row.

    Example:
        >>> window = Over.partition_by(col("a")).order_by(col("rowtime")).preceding(UNBOUNDED_RANGE).alias("w")
    """

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """Begin an over window without partitions.

        Args:
            order_by: A time attribute, ascending unless it says otherwise.
        """
        return cls.partition_by().order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """Begin an over window with partitions.

        Args:
            partition_by: Columns or expressions; rows with equal values belong together.
        """
        return OverWindowPartitioned(WindowSpec(tuple(map(node_of, partition_by)), by_time=True))


class OverWindowPartitioned:
    """An over window that needs its order.

    `Over.partition_by` returns it; continue with `order_by`.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """Order the rows by a time attribute.

        Args:
            order_by: A time attribute, ascending unless it says otherwise.
        """
        node = node_of(order_by)
        ordering = node if isinstance(node, Ordering) else Ordering(node)
        return OverWindowPartitionedOrdered(replace(self._spec, order_by=(ordering,)))


class OverWindowPartitionedOrdered:
    """An over window that needs its start or its name.

    `order_by` of `Over` or `OverWindowPartitioned` returns it; continue with `preceding` or `alias`.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Set the start of the window.

        Args:
            preceding: An interval, `row_interval(5)`, `UNBOUNDED_ROW`, `UNBOUNDED_RANGE`, `CURRENT_ROW` or
                `CURRENT_RANGE`.
        """
        frame, amount = _frame_of(preceding)
        start = ("CURRENT", CURRENT) if amount == CURRENT else ("PRECEDING", amount)
        return OverWindowPartitionedOrderedPreceding(
            replace(self._spec, frame=frame, preceding=start, following=("CURRENT", CURRENT))
        )

    def alias(self, alias: str) -> OverWindow:
        """Name the window, which begins with the first row of the partition.

        Args:
            alias: Name by which `over` refers to the window.
        """
        return OverWindow(alias, self._spec)


class OverWindowPartitionedOrderedPreceding:
    """An over window that needs its name, and may have an end.

    `OverWindowPartitionedOrdered.preceding` returns it; continue with `following` or `alias`.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Set the end of the window, which is the current row by default.

        Args:
            following: A bound of the same kind as the start: rows or time.

        Raises:
            ValidationException: one bound is in rows, the other in time.
        """
        frame, amount = _frame_of(following)
        if frame != self._spec.frame:
            raise ValidationException("Preceding and following must be of same interval type.")
        end = ("CURRENT", CURRENT) if amount == CURRENT else ("FOLLOWING", amount)
        return OverWindowPartitionedOrderedPreceding(replace(self._spec, following=end))

    def alias(self, alias: str) -> OverWindow:
        """Name the window.

        Args:
            alias: Name by which `over` refers to the window.
        """
        return OverWindow(alias, self._spec)


def _frame_of(bound: Expression[Any]) -> tuple[str, Any]:
    """Return ROWS or RANGE, and the bound: a number of rows, an interval, UNBOUNDED or CURRENT."""
    node = node_of(bound)
    if isinstance(node, Lit) and isinstance(node.value, tuple):
        return node.value[1], node.value[0]
    if isinstance(node, Apply) and node.function == "ROWS":
        return "ROWS", node.operands[0]
    return "RANGE", node
