"""The rules of JSON between JSON values and values of programs: parts, NULL, missing fields and errors.

Adapters describe types as a `Part`: `type_parts` for DataStreams, `column_parts` for tables.
Why: `docs/decisions/0043-one-codec-per-format.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

quoted: Callable[[str], str] = encode_basestring
"""Returns a text as a JSON string, with all characters as they are."""

Read = Callable[[Any], Any]
Write = Callable[[Any], str]


@dataclass(frozen=True)
class JsonRules:
    """What to do with problems.

    Attributes:
        ignore_parse_errors: Whether an invalid value becomes NULL.
        fail_on_missing_field: Whether an object without one of the fields is invalid.
        null_keys: What to do with NULL as a key of a map: `fail`, `drop` or `literal`.
        null_key: The key to write for NULL.
        ignore_null_fields: Whether fields that are NULL are not written.
    """

    ignore_parse_errors: bool = False
    fail_on_missing_field: bool = False
    null_keys: str = "fail"
    null_key: str = "null"
    ignore_null_fields: bool = False


@dataclass(frozen=True)
class Scalar:
    """A value without parts.

    Attributes:
        read: Returns the value of a parsed JSON value that is not null; raises ValueError if it is invalid.
        write: Returns the JSON of a value.
    """

    read: Read
    write: Write


@dataclass(frozen=True)
class Elements:
    """A JSON array of elements of one type."""

    element: Part


@dataclass(frozen=True)
class Entries:
    """A JSON object with any keys.

    Attributes:
        key: The type of the keys.
        item: The type of the values.
        items: Returns the pairs of a map.
    """

    key: Part
    item: Part
    items: Callable[[Any], Any]


@dataclass(frozen=True)
class Fields:
    """A JSON object with known fields.

    Attributes:
        names: The names of the fields.
        parts: The types of the fields.
        values: Returns the values of the fields of a row.
        is_tuple: Whether an array with a value for each field is read, too.
    """

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    values: Callable[[Any], Sequence[Any]]
    is_tuple: bool = False


Part = Scalar | Elements | Entries | Fields


def parse(text: bytes | str, parse_float: Callable[[str], Any] = float) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text.
        parse_float: Converts numbers with a fraction or an exponent.

    Raises:
        ValueError: it is no JSON, such as `NaN`, which Python would read.
    """
    return json.loads(text, parse_float=parse_float, parse_constant=_refused)


def _refused(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


class JsonCodec:
    """Converts values by the rules."""

    def __init__(self, rules: JsonRules) -> None:
        self._rules = rules

    # --- reading -----------------------------------------------------------------------------------------------------

    def reader(self, part: Part) -> Read:
        """Return the function that converts a parsed JSON value.

        The function raises ValueError for an invalid value; the error names the field.
        """
        read = self._valid_reader(part)
        if not self._rules.ignore_parse_errors:
            return lambda value: None if value is None else read(value)

        def read_or_null(value: object) -> Any:
            try:
                return None if value is None else read(value)
            except ValueError:
                return None

        return read_or_null

    def _valid_reader(self, part: Part) -> Read:
        match part:
            case Scalar():
                return part.read
            case Elements():
                element = self.reader(part.element)
                return lambda value: [element(one) for one in _of(value, list, "an array")]
            case Entries():
                key, item = self.reader(part.key), self.reader(part.item)
                return lambda value: {key(k): item(v) for k, v in _of(value, dict, "an object").items()}
            case Fields():
                return self._fields_reader(part)

    def _fields_reader(self, part: Fields) -> Read:
        readers = list(zip(part.names, map(self.reader, part.parts), strict=True))
        needs_all = self._rules.fail_on_missing_field

        def read(value: Any) -> tuple[Any, ...]:
            if part.is_tuple and isinstance(value, list) and len(value) == len(readers):
                value = dict(zip(part.names, value, strict=True))
            found = _of(value, dict, "an object")
            if needs_all:
                _check_fields(found, part.names)
            try:
                return tuple([convert(found.get(name)) for name, convert in readers])
            except ValueError:
                _name_field(found, readers)
                raise

        return read

    # --- writing -----------------------------------------------------------------------------------------------------

    def writer(self, part: Part) -> Write:
        """Return the function that returns the JSON of a value."""
        write = self._valid_writer(part)
        return lambda value: "null" if value is None else write(value)

    def _valid_writer(self, part: Part) -> Write:
        match part:
            case Scalar():
                return part.write
            case Elements():
                element = self.writer(part.element)
                return lambda value: "[" + ",".join(map(element, value)) + "]"
            case Entries():
                return self._entries_writer(part)
            case Fields():
                values, writers = part.values, list(map(self.field_writer, part.names, part.parts))
                return lambda row: object_of([write(one) for write, one in zip(writers, values(row), strict=True)])

    def field_writer(self, name: str, part: Part) -> Callable[[Any], str | None]:
        """Return the function that returns a value as a field of an object; None if it is not written.

        Args:
            name: The name of the field.
            part: The type of its values.
        """
        label, write = f"{quoted(name)}:", self._valid_writer(part)
        null = None if self._rules.ignore_null_fields else f"{label}null"
        return lambda value: null if value is None else label + write(value)

    def _entries_writer(self, part: Entries) -> Write:
        write_key, write_item, items = self.writer(part.key), self.writer(part.item), part.items

        def write(value: object) -> str:
            pairs = [(self._key(key, write_key), item) for key, item in items(value)]
            return object_of([key and f"{key}:{write_item(item)}" for key, item in pairs])

        return write

    def _key(self, key: object, write: Write) -> str | None:
        """Return the JSON of a key; None to leave its entry out."""
        if key is None:
            return self._null_key()
        text = write(key)
        return text if text[:1] == '"' else quoted(text)

    def _null_key(self) -> str | None:
        if self._rules.null_keys == "fail":
            raise ValueError(
                "JSON format doesn't support to serialize map data with null keys. You can drop null key entries "
                "or encode null in literals by specifying map-null-key.mode option."
            )
        return None if self._rules.null_keys == "drop" else quoted(self._rules.null_key)


def object_of(fields: Sequence[str | None]) -> str:
    """Return a JSON object of fields with their names; fields that are None are left out."""
    return "{" + ",".join(filter(None, fields)) + "}"


def _of(value: object, wanted: type, name: str) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"expected {name}, found {shown(value)}")
    return value


def _check_fields(found: Mapping[str, object], names: Sequence[str]) -> None:
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise ValueError(f"Could not find field with name '{missing}'.")


def _name_field(found: Mapping[str, object], readers: list[tuple[str, Read]]) -> None:
    for name, read in readers:
        try:
            read(found.get(name))
        except ValueError as error:
            raise ValueError(f"field {name}: {error}") from error


def shown(value: object) -> str:
    """Return the beginning of a JSON value, for errors."""
    return json.dumps(value, ensure_ascii=False, default=str)[:100]
