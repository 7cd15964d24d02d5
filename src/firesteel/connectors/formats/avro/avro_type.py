"""Types of Avro schemas, as far as columns are read and written by them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type of an Avro schema.

    Attributes:
        name: Its name in Avro, such as `long`, or `union`.
        logical: The logical type.
        precision: The number of digits of a decimal.
        scale: How many of them are behind the point.
        size: The number of bytes of a `fixed`.
        fields: The fields of a record.
        branches: The types of a union.
    """

    name: str
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    size: int = 0
    fields: tuple[tuple[str, AvroType], ...] = ()
    branches: tuple[AvroType, ...] = ()

    @property
    def null(self) -> int | None:
        """Return which of two branches is null; None if this is no type with null."""
        names = [branch.name for branch in self.branches]
        return names.index("null") if len(names) == 2 and "null" in names else None


def avro_type(schema: object) -> AvroType:
    """Return the type of a schema, which is JSON data with all references to types expanded."""
    if isinstance(schema, list):
        return AvroType("union", branches=tuple(map(avro_type, schema)))
    if not isinstance(schema, dict):
        return AvroType(str(schema))
    if not isinstance(schema["type"], str):
        return avro_type(schema["type"])
    precision, scale, size = (schema.get(name, 0) for name in ("precision", "scale", "size"))
    fields = tuple((field["name"], avro_type(field["type"])) for field in schema.get("fields", ()))
    return AvroType(schema["type"], schema.get("logicalType"), precision, scale, size, fields)
