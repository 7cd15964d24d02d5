"""State of an Avro type that was written with another schema: which schemas fit, and how values are converted.

The rules are those of Avro's specification ("Schema Resolution"). Flink: `AvroSerializerSnapshot`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from firesteel.connectors.formats.avro.codec import fastavro

if TYPE_CHECKING:
    from firesteel.connectors.formats.avro.schemas import AvroSchema

Schema: TypeAlias = "str | list[Schema] | dict[str, Schema]"
"""A schema as fastavro parses it: a name, a list of the types of a union, or a dict."""

_PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}
"""The types as which values of a primitive type can be read, too."""


def conversion(old: str, new: AvroSchema) -> Callable[[object], object] | None:
    """Return how to convert records of an old schema, given as JSON, to a new one; None if that is not possible.

    Example:
        >>> record = '{"type": "record", "name": "A", "fields": [%s{"name": "b", "type": "%s"}]}'
        >>> new = AvroSchema.parse_string(record % ('{"name": "a", "type": "string", "default": "x"}, ', "long"))
        >>> conversion(record % ("", "int"), new)({"b": 7})
        {'b': 7, 'a': 'x'}
        >>> conversion(record % ("", "string"), new) is None
        True
    """
    if not can_read(old, new.json_schema):
        return None
    writer = fastavro().parse_schema(json.loads(old))

    def converted(value: object) -> object:
        if value is None:
            return None
        data = io.BytesIO()
        fastavro().schemaless_writer(data, writer, value)
        data.seek(0)
        found: object = fastavro().schemaless_reader(data, writer, new.parsed)
        return found

    return converted


def can_read(old: str, new: str) -> bool:
    """Return whether all values of a schema can be read with another one; both are JSON."""
    names: tuple[dict[str, Schema], dict[str, Schema]] = {}, {}
    both = [
        fastavro().parse_schema(json.loads(text), named_schemas=known)
        for text, known in zip((old, new), names, strict=True)
    ]
    return _Resolution(*names).fits(*both)


class _Resolution:
    """Compares schemas, whose types may refer to themselves by name."""

    def __init__(self, old_names: dict[str, Schema], new_names: dict[str, Schema]) -> None:
        self._old_names, self._new_names = old_names, new_names
        self._assumed: set[tuple[str, str]] = set()

    def fits(self, old: Schema, new: Schema) -> bool:
        """Return whether all values of the old schema can be read with the new one."""
        old, new = _resolved(old, self._old_names), _resolved(new, self._new_names)
        if isinstance(old, list):
            return all(self.fits(one, new) for one in old)
        if isinstance(new, list):
            return any(self.fits(old, one) for one in new)
        kind, wanted = _kind(old), _kind(new)
        if kind != wanted:
            return wanted in _PROMOTIONS.get(kind, ())
        match kind:
            case "array":
                return self.fits(_of(old, "items"), _of(new, "items"))
            case "map":
                return self.fits(_of(old, "values"), _of(new, "values"))
            case "record" | "error":
                return _same_name(old, new) and self._fields_fit(old, new)
            case "enum":
                known = set(map(str, _of(old, "symbols"))) <= set(map(str, _of(new, "symbols")))
                return _same_name(old, new) and (known or "default" in new)
            case "fixed":
                return _same_name(old, new) and _of(old, "size") == _of(new, "size")
        return _decimal(old) == _decimal(new)

    def _fields_fit(self, old: Schema, new: Schema) -> bool:
        pair = _name(old), _name(new)
        if pair in self._assumed:
            return True
        self._assumed.add(pair)
        written = {_name(field): _of(field, "type") for field in _of(old, "fields")}
        for field in _of(new, "fields"):
            found = next((written[name] for name in _names_of(field) if name in written), None)
            if found is None:
                if "default" not in field:
                    return False
            elif not self.fits(found, _of(field, "type")):
                return False
        return True


def _of(schema: Schema, part: str) -> Schema:
    assert isinstance(schema, dict)
    return schema[part]


def _name(schema: Schema) -> str:
    return str(_of(schema, "name"))


def _resolved(schema: Schema, names: dict[str, Schema]) -> Schema:
    if isinstance(schema, dict) and isinstance(schema["type"], (dict, list)):
        return _resolved(schema["type"], names)
    return names.get(schema, schema) if isinstance(schema, str) else schema


def _kind(schema: Schema) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _names_of(schema: Schema) -> Iterator[str]:
    yield _name(schema)
    if isinstance(schema, dict):
        yield from map(str, schema.get("aliases", ()))


def _same_name(old: Schema, new: Schema) -> bool:
    """Return whether a named type can be read as another one; namespaces may differ, as in Avro for Java."""
    wanted = _name(old).rpartition(".")[2]
    return any(name.rpartition(".")[2] == wanted for name in _names_of(new))


def _decimal(schema: Schema) -> object:
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        return schema.get("precision"), schema.get("scale", 0)
    return None
