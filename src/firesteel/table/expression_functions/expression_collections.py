"""Functions of expressions over arrays, maps, rows and bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of, unary
from firesteel.table.syntax.unresolved import Apply, Lit

if TYPE_CHECKING:
    from firesteel.table.expression import Expression
    from firesteel.table.syntax.unresolved import Unresolved


class CollectionMethods(ExpressionBase):
    """Functions of arrays, maps and rows. Each method calls Flink's SQL function of the same name."""

    cardinality = unary("CARDINALITY", "The number of elements.")
    element = unary("ELEMENT", "The only element of an array.")
    flatten = unary("FLATTEN", "The fields of a row as columns of their own.")
    map_entries = unary("MAP_ENTRIES", "The entries of a map as an array of rows.")
    map_keys = unary("MAP_KEYS", "The keys of a map.")
    map_values = unary("MAP_VALUES", "The values of a map.")

    def at(self, index: object) -> Expression[Any]:
        """Return an element of an array, the value of a key of a map, or a field of a row.

        Args:
            index: Position in the array, from 1; a key of the map; or a constant name or position (from 0) of the
                field.

        Returns:
            NULL if the array is shorter or the map has no such key; a position less than 1 is an error.
        """
        return self._call("ITEM", index)

    def __getitem__(self, index: object) -> Expression[Any]:
        return self.at(index)

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """Return a field of a row.

        Args:
            name_or_index: Name, or position from 0.
        """
        return self._wrap(Apply("DOT", (self._node, Lit(name_or_index))))

    def array_append(self, addition: object) -> Expression[Any]:
        """Return the array with an element added at its end (ARRAY_APPEND).

        Args:
            addition: The element; None is NULL.
        """
        return self._array("ARRAY_APPEND", addition)

    def array_concat(self, *arrays: object) -> Expression[Any]:
        """Return the elements of several arrays, one array after the other (ARRAY_CONCAT).

        Args:
            arrays: Arrays with a common element type; if one is NULL, so is the result.
        """
        return self._call("ARRAY_CONCAT", *arrays)

    def array_contains(self, needle: object) -> Expression[Any]:
        """Return whether the array contains an element (ARRAY_CONTAINS).

        Args:
            needle: The element; None finds NULL elements.
        """
        return self._array("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression[Any]:
        """Call ARRAY_DISTINCT."""
        return self._call("ARRAY_DISTINCT")

    def array_except(self, array: object) -> Expression[Any]:
        """Return the distinct elements that another array does not contain (ARRAY_EXCEPT).

        Args:
            array: The other array, with a common element type.
        """
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: object) -> Expression[Any]:
        """Return the distinct elements that another array contains, too (ARRAY_INTERSECT).

        Args:
            array: The other array, with a common element type.
        """
        return self._call("ARRAY_INTERSECT", array)

    def array_join(self, delimiter: object, null_replacement: object = None) -> Expression[Any]:
        """Return the elements of an array of strings as one string (ARRAY_JOIN).

        Args:
            delimiter: String between two elements.
            null_replacement: String for a NULL element; None skips NULL elements.
        """
        return self._call("ARRAY_JOIN", delimiter, null_replacement)

    def array_max(self) -> Expression[Any]:
        """Call ARRAY_MAX."""
        return self._call("ARRAY_MAX")

    def array_min(self) -> Expression[Any]:
        """Call ARRAY_MIN."""
        return self._call("ARRAY_MIN")

    def array_position(self, needle: object) -> Expression[Any]:
        """Return the position of the first occurrence of an element (ARRAY_POSITION).

        Args:
            needle: The element.

        Returns:
            A position from 1; 0 if the element is missing, and NULL if it is NULL.
        """
        return self._array("ARRAY_POSITION", needle)

    def array_prepend(self, addition: object) -> Expression[Any]:
        """Return the array with an element added at its beginning (ARRAY_PREPEND).

        Args:
            addition: The element; None is NULL.
        """
        return self._array("ARRAY_PREPEND", addition)

    def array_remove(self, needle: object) -> Expression[Any]:
        """Return the array without all occurrences of an element (ARRAY_REMOVE).

        Args:
            needle: The element; None removes NULL elements.
        """
        return self._array("ARRAY_REMOVE", needle)

    def _array(self, function: str, element: object) -> Expression[Any]:
        """Return a call whose element may be NULL, given as None."""
        return self._wrap(Apply(function, (self._node, Lit(None) if element is None else self._element(element))))

    @staticmethod
    def _element(element: object) -> Unresolved:
        return node_of(element) if isinstance(element, ExpressionBase) else Lit(element)

    def array_reverse(self) -> Expression[Any]:
        """Call ARRAY_REVERSE."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: object, end_offset: object = None) -> Expression[Any]:
        """Return a part of the array (ARRAY_SLICE).

        Args:
            start_offset: First position, from 1; -1 is the last element.
            end_offset: Last position, inclusive; -1 is the last element, and None means up to the end.
        """
        return self._call("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: object = None, null_first: object = None) -> Expression[Any]:
        """Return the array sorted (ARRAY_SORT).

        Args:
            ascending_order: False sorts in descending order; None in ascending order.
            null_first: Whether NULL elements come first; None puts them first in ascending and last in descending
                order.
        """
        return self._call("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: object) -> Expression[Any]:
        """Return the distinct elements of both arrays (ARRAY_UNION).

        Args:
            array: The other array, with a common element type.
        """
        return self._call("ARRAY_UNION", array)

    def map_union(self, *maps: object) -> Expression[Any]:
        """Return the entries of several maps (MAP_UNION).

        Args:
            maps: Maps with common types; for a key of several maps, the last value counts.
        """
        return self._call("MAP_UNION", *maps)

    def object_update(self, *kv: object) -> Expression[Any]:
        """Return a call of OBJECT_UPDATE, which is not supported: tables reject it.

        Args:
            kv: Alternating names and new values of fields.
        """
        return self._call("OBJECT_UPDATE", *kv)


class BitmapMethods(ExpressionBase):
    """Functions of bitmaps. Each method calls Flink's SQL function of the same name."""

    def bitmap_and(self, bitmap2: object) -> Expression[Any]:
        """Return a call of BITMAP_AND, which is not supported: tables reject it.

        Args:
            bitmap2: The other bitmap.
        """
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_and_agg(self) -> Expression[Any]:
        """Call BITMAP_AND_AGG."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression[Any]:
        """Call BITMAP_AND_CARDINALITY_AGG."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_andnot(self, bitmap2: object) -> Expression[Any]:
        """Return a call of BITMAP_ANDNOT, which is not supported: tables reject it.

        Args:
            bitmap2: The other bitmap.
        """
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_build(self) -> Expression[Any]:
        """Call BITMAP_BUILD."""
        return self._call("BITMAP_BUILD")

    def bitmap_build_agg(self) -> Expression[Any]:
        """Call BITMAP_BUILD_AGG."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression[Any]:
        """Call BITMAP_BUILD_CARDINALITY_AGG."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Expression[Any]:
        """Call BITMAP_CARDINALITY."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression[Any]:
        """Call BITMAP_FROM_BYTES."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: object) -> Expression[Any]:
        """Return a call of BITMAP_OR, which is not supported: tables reject it.

        Args:
            bitmap2: The other bitmap.
        """
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_or_agg(self) -> Expression[Any]:
        """Call BITMAP_OR_AGG."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression[Any]:
        """Call BITMAP_OR_CARDINALITY_AGG."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Expression[Any]:
        """Call BITMAP_TO_ARRAY."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression[Any]:
        """Call BITMAP_TO_BYTES."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression[Any]:
        """Call BITMAP_TO_STRING."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: object) -> Expression[Any]:
        """Return a call of BITMAP_XOR, which is not supported: tables reject it.

        Args:
            bitmap2: The other bitmap.
        """
        return self._call("BITMAP_XOR", bitmap2)

    def bitmap_xor_agg(self) -> Expression[Any]:
        """Call BITMAP_XOR_AGG."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression[Any]:
        """Call BITMAP_XOR_CARDINALITY_AGG."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")
