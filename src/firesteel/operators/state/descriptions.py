"""What versions say about their states: kind and types, as plain data; whether restored state fits, or is converted.

Flink: `TypeSerializerSnapshot.resolveSchemaCompatibility`. A ROW may get and lose fields, as POJO and Avro types may in
Flink; every other change of a type is a `StateMigrationError`.

Why: `docs/decisions/0045-states-describe-themselves.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from firesteel.common.typeinfo import (
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.unchanged import unchanged
from firesteel.common.values.coercion import coercer
from firesteel.functions.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.operators.chain.operator_errors import ChangedQueryError, StateMigrationError
from firesteel.operators.state.entries import Stored

if TYPE_CHECKING:
    from firesteel.common.types import Row

TypeText: TypeAlias = "str | tuple[str, tuple[TypeText, ...]] | tuple[str, tuple[TypeText, ...], tuple[str, ...]]"
"""A type as plain data: its name, or its name with the types of its parts, and their names if it is a row."""

Description: TypeAlias = "dict[str, object]"
"""Of a state: its `kind`, and the types of its `key` (of maps) and `value`; of an operator's keys: kind and `key`."""

Convert = Callable[[Stored], Stored]

DESCRIBED = "\0described"
"""Name of the delta that holds descriptions by table name, and no entries. Every subtask reads all of it."""

NEXT_SUBTASK = "\0next"
"""Name of an empty delta between those of the subtasks of another job, whose descriptions may differ."""

OF_KEYS = "\0key"
"""The key of the description of an operator's keys."""

OF_LAYOUT = "\0layout"
"""The key of the description of all state of an operator of SQL, see `columns.state_layout`."""

OF_OPERATOR = frozenset({OF_KEYS, OF_LAYOUT})
"""The keys of descriptions that are not those of states."""

PICKLED = "PICKLED"
_FORMER_BRACKETS = str.maketrans("<>", "()")
"""Savepoints have `LocalTimeTypeInfo(LOCAL_DATE)`; the type has PyFlink's text since then."""

_ROW = "ROW"
_TUPLE = "TUPLE"

_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


@runtime_checkable
class EvolvingType(Protocol):
    """A type with a schema of its own, whose values can be converted to those of another schema, as Avro's."""

    def schema_text(self) -> tuple[str, str]:
        """Return the kind of the type and its schema."""

    def conversion_from(self, schema: str) -> Convert | None:
        """Return how to convert values of another schema, None if that is not possible."""


def type_text(type_info: TypeInformation[object] | None, is_key: bool = False) -> TypeText:
    """Return a type as plain data; undeclared types are PICKLED.

    Args:
        type_info: The type.
        is_key: Whether it is a type of keys, which cannot evolve: where a key belongs depends on it.

    Example:
        >>> type_text(Types.LIST(Types.ROW_NAMED(["a"], [Types.INT()])))
        ('ListTypeInfo', (('ROW', ('Integer',), ('a',)),))
    """
    if isinstance(type_info, EvolvingType) and not is_key:
        kind, schema = type_info.schema_text()
        return kind, (), (schema,)
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return PICKLED
    if isinstance(type_info, ExternalTypeInfo):
        return type_text(type_info.type_info, is_key)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        fields = tuple(type_text(field, is_key) for field in type_info.get_field_types())
        return (
            (_ROW, fields, tuple(type_info.get_field_names()))
            if isinstance(type_info, RowTypeInfo)
            else (_TUPLE, fields)
        )
    if isinstance(type_info, MapTypeInfo):
        return "MAP", (type_text(type_info.key_type, is_key=True), type_text(type_info.value_type, is_key))
    if isinstance(type_info, ElementTypeInfo):
        return type(type_info).__name__, (type_text(type_info.element_type, is_key),)
    text = str(type_info)
    return text.translate(_FORMER_BRACKETS) if isinstance(type_info, LocalTimeTypeInfo) else text


def shown(text: object) -> str:
    """Return a type for messages; anything else, which a damaged file may have, as its text.

    Example:
        >>> shown(("ROW", ("Integer", "PICKLED"), ("a", "b")))
        'ROW<a: Integer, b: PICKLED>'
    """
    match text:
        case (str(name), (), (str(schema),)):
            return f"{name} {schema}"
        case (str(name), tuple(parts)):
            return f"{name}<{', '.join(map(shown, parts))}>"
        case (str(name), tuple(parts), tuple(names)):
            fields = (f"{field}: {shown(part)}" for field, part in zip(names, parts, strict=False))
            return f"{name}<{', '.join(fields)}>"
    return str(text)


class _Types(NamedTuple):
    """The declared types of a state."""

    kind: str
    key: TypeInformation[object] | None
    value: TypeInformation[object] | None


def _types_of(descriptor: StateDescriptor) -> _Types:
    # A program may have derived its own class.
    kind = next(kind for each, kind in _KINDS.items() if isinstance(descriptor, each))
    if isinstance(descriptor, MapStateDescriptor):
        return _Types(kind, descriptor.key_type_info, descriptor.value_type_info)
    if isinstance(descriptor, ListStateDescriptor):
        return _Types(kind, None, descriptor.elem_type_info)
    return _Types(kind, None, descriptor.type_info)


def description_of(descriptor: StateDescriptor) -> Description:
    """Return the description of a state.

    Example:
        >>> description_of(MapStateDescriptor("m", Types.STRING(), Types.LONG()))
        {'kind': 'map', 'value': 'Long', 'key': 'String'}
    """
    kind, key, value = _types_of(descriptor)
    found: Description = {"kind": kind, "value": type_text(value)}
    return found | {"key": type_text(key, is_key=True)} if kind == "map" else found


def different(first: Description, second: Description) -> Description:
    """Return a description for a state whose subtasks have different ones; no descriptor matches it.

    Subtasks differ if a job stopped while it converted restored state, before each subtask had requested that state.
    """
    found: Description = {}
    for part in {**first, **second}:
        both = first.get(part), second.get(part)
        if both[0] == both[1]:
            found[part] = both[0]
        else:
            found[part] = " or ".join(map(str, both)) if part == "kind" else ("SEVERAL", both)
    return found


def conversion(restored: Description, descriptor: StateDescriptor) -> Convert | None:
    """Return how to convert restored values (elements of lists, values of maps), or None if they stay as they are.

    Raises:
        StateMigrationError: the descriptor does not fit the restored state.
    """
    asked = description_of(descriptor)
    what = f"state {descriptor.name!r}"
    if restored["kind"] != asked["kind"]:
        raise StateMigrationError(what, f"{restored['kind']} state", f"{asked['kind']} state")
    check_same(what, "map keys of type", restored.get("key"), asked.get("key"))
    if restored["value"] == asked["value"]:
        return None
    convert = _conversion(restored["value"], asked["value"], _types_of(descriptor).value)
    if convert is None:
        check_same(what, "type", restored["value"], asked["value"])
    return convert


def check_same(what: str, part: str, restored: object, asked: object) -> None:
    """Check that a type has not changed.

    Raises:
        StateMigrationError: it has.
    """
    if restored != asked:
        raise StateMigrationError(what, f"{part} {shown(restored)}", f"{part} {shown(asked)}")


def check_layout(operator: str, restored: object, asked: tuple[str, ...], is_narrowed: bool) -> None:
    """Check that an operator of SQL keeps what it has kept.

    Args:
        operator: The name of the operator.
        restored: What it has kept; None in state of former releases, which did not note it.
        asked: What it keeps.
        is_narrowed: Whether operators of its job keep fewer columns than in former releases.

    Raises:
        ChangedQueryError: it keeps something else, or may do so.
    """
    if restored is None and is_narrowed:
        raise ChangedQueryError(operator, "that of a former release", asked, is_narrowed)
    if restored is not None and restored != asked:
        raise ChangedQueryError(operator, restored, asked, is_narrowed)


def _conversion(old: object, new: object, declared: TypeInformation[object] | None) -> Convert | None:
    """Return how to convert values of one type to another, or None if that is not possible."""
    if old == new:
        return unchanged
    if isinstance(declared, EvolvingType):
        return _evolution(old, new, declared)
    if isinstance(declared, ExternalTypeInfo):
        return _conversion(old, new, declared.type_info)
    if not isinstance(old, tuple) or not isinstance(new, tuple) or old[0] != new[0]:
        return None
    if isinstance(declared, RowTypeInfo):
        return _row_conversion(old, new, declared)
    if isinstance(declared, MapTypeInfo) and old[1][0] == new[1][0]:
        items = _conversion(old[1][1], new[1][1], declared.value_type)
        return items and (lambda value: value and dict(zip(value, map(items, value.values()), strict=True)))
    if isinstance(declared, TupleTypeInfo) and len(old[1]) == len(new[1]):
        return _tuple_conversion(old[1], new[1], declared)
    if isinstance(declared, ElementTypeInfo):
        elements = _conversion(old[1][0], new[1][0], declared.element_type)
        return elements and (lambda value: value and list(map(elements, value)))
    return None


def _evolution(old: object, new: object, declared: EvolvingType) -> Convert | None:
    match old:
        case (str(kind), (), (str(schema),)) if kind == declared.schema_text()[0]:
            return declared.conversion_from(schema)
    # Earlier releases did not note schemas.
    return unchanged if old == PICKLED else None


def _tuple_conversion(old: Stored, new: Stored, declared: TupleTypeInfo) -> Convert | None:
    fields: list[Convert] = []
    for old_type, new_type, type_info in zip(old, new, declared.get_field_types(), strict=True):
        convert = _conversion(old_type, new_type, type_info)
        if convert is None:
            return None
        fields.append(convert)
    return lambda value: value and tuple(convert(part) for convert, part in zip(fields, value, strict=True))


def _row_conversion(old: Stored, new: Stored, declared: RowTypeInfo) -> Convert | None:
    """Return how to convert a row: fields keep their values by name, new ones are NULL."""
    places = {name: place for place, name in enumerate(old[2])}
    converts: dict[str, Convert] = {}
    for name, text, type_info in zip(new[2], new[1], declared.get_field_types(), strict=True):
        if name in places:
            convert = _conversion(old[1][places[name]], text, type_info)
            if convert is None:
                return None
            converts[name] = convert
    build = coercer(declared) or unchanged

    def converted(row: Row | None) -> Stored:
        if row is None:
            return None
        made = build({name: convert(row[places[name]]) for name, convert in converts.items()})
        made.set_row_kind(row.get_row_kind())
        return made

    return converted
