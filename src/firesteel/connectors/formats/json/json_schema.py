"""Conversion of JSON schemas to types, as in Flink's `JsonRowSchemaConverter`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import RowTypeInfo, TypeInformation, Types

_SIMPLE: dict[str, Callable[[], TypeInformation[Any]]] = {
    "boolean": Types.BOOLEAN,
    "number": Types.BIG_DEC,
    "integer": Types.BIG_INT,
}
_TEXT_FORMATS: dict[str, Callable[[], TypeInformation[Any]]] = {
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "date-time": Types.SQL_TIMESTAMP,
}
_REFUSED = ("allOf", "anyOf", "not")


def type_of_json_schema(json_schema: str) -> TypeInformation[Any]:
    """Return the type of the values that a JSON schema describes.

    Raises:
        ValueError: the text is not valid JSON, or the schema has an unsupported part; the error says where.

    Example:
        >>> type_of_json_schema('{"type": "object", "properties": {"a": {"type": "integer"}}}')
        RowTypeInfo(a: BigInteger)
    """
    schema = json.loads(json_schema)
    return _type_of(schema, schema, "<root>")


def _type_of(node: object, root: object, where: str) -> TypeInformation[Any]:
    if not isinstance(node, dict):
        raise ValueError(f"JSON schema, {where}: a schema must be an object, found {node!r}")
    if refused := [word for word in _REFUSED if word in node]:
        raise ValueError(f"JSON schema, {where}: {refused[0]!r} is not supported")
    if "$ref" in node:
        return _type_of(_referred(node["$ref"], root, where), root, where)
    if "oneOf" in node:
        variants = [one for one in node["oneOf"] if one.get("type") != "null"]
        return _only(variants, where, lambda one: _type_of(one, root, where))
    names = node.get("type", "object" if "properties" in node else None)
    names = [name for name in (names if isinstance(names, list) else [names]) if name != "null"]
    return _only(names, where, lambda name: _named_type(name, node, root, where))


def _only(variants: list[Any], where: str, convert: Any) -> TypeInformation[Any]:
    if len(variants) != 1:
        raise ValueError(f"JSON schema, {where}: exactly one type besides null is supported, found {variants}")
    type_info: TypeInformation[Any] = convert(variants[0])
    return type_info


def _named_type(name: object, node: dict[str, Any], root: object, where: str) -> TypeInformation[Any]:
    if name == "object":
        return _row_type(node.get("properties", {}), root, where)
    if name == "array":
        return _array_type(node, root, where)
    if name == "string":
        return _text_type(node)
    if name not in _SIMPLE:
        raise ValueError(f"JSON schema, {where}: type {name!r} is not supported")
    return _SIMPLE[name]()


def _row_type(properties: dict[str, Any], root: object, where: str) -> TypeInformation[Any]:
    types = [_type_of(node, root, f"{where}/properties/{name}") for name, node in properties.items()]
    return RowTypeInfo(types, list(properties)) if types else Types.ROW([])


def _array_type(node: dict[str, Any], root: object, where: str) -> TypeInformation[Any]:
    items = node.get("items")
    if isinstance(items, list):
        return Types.ROW([_type_of(item, root, f"{where}/items[{i}]") for i, item in enumerate(items)])
    return Types.OBJECT_ARRAY(_type_of(items, root, f"{where}/items"))


def _text_type(node: dict[str, Any]) -> TypeInformation[Any]:
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _TEXT_FORMATS.get(node.get("format", ""), Types.STRING)()


def _referred(reference: str, root: object, where: str) -> object:
    """Return the part of the schema that a reference such as `#/definitions/address` points to."""
    node = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not reference.startswith("#/") or not isinstance(node, dict) or step not in node:
            raise ValueError(f"JSON schema, {where}: reference {reference!r} not found")
        node = node[step]
    return node
