"""Translation of properties such as `connector.type` to today's options, by the rules of `legacy_rules`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from firesteel.common.table_errors import ValidationException
from firesteel.pyflink1.removed import note
from firesteel.pyflink1.tables.legacy_rules import CONNECTORS, FIELD_PREFIX, FORMATS, PREFIXES, Rule

_INDEXED = re.compile(r"(connector\.(?:properties|hosts|specific-offsets))\.(\d+)\.(\S+)")


def is_legacy(options: Mapping[str, str]) -> bool:
    """Return whether options are properties of Flink up to 1.10."""
    return "connector.type" in options


def today_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return today's options of a table.

    Raises:
        ValidationException: there is no rule for a property or its value.
    """
    note("'connector.type'", "'connector', with today's options of the connector")
    given = _without_indices(properties)
    kind = given.pop("connector.type")
    if kind not in CONNECTORS:
        raise ValidationException(f"'connector.type' = '{kind}' has no translation; known are {_names(CONNECTORS)}")
    name, rules = CONNECTORS[kind]
    found = {"connector": name}
    format_name = given.pop("format.type", None)
    if format_name is not None:
        found["format"] = format_name
        rules = {**rules, **_format_rules(format_name)}
    for key, value in given.items():
        found |= _translated(kind, key, value, rules)
    if found["connector"] == "elasticsearch-7":
        found.pop("document-type", None)  # its documents have no types, and Flink 1 ignored this one
    if format_name == "json":
        found["json.timestamp-format.standard"] = "RFC-3339"
    if (kind, format_name) == ("filesystem", "csv"):  # up to Flink 1.10, files had a CSV of their own
        found["csv.ignore-additional-fields"] = "true"
        if "csv.quote-character" not in found:
            found["csv.disable-quote-character"] = "true"
    return found


def _format_rules(name: str) -> Mapping[str, Rule]:
    if name not in FORMATS:
        raise ValidationException(f"'format.type' = '{name}' has no translation; known are {_names(FORMATS)}")
    return FORMATS[name]


def _translated(kind: str, key: str, value: str, rules: Mapping[str, Rule]) -> dict[str, str]:
    for prefix, replacement in PREFIXES.get(kind, {}).items():
        if key.startswith(prefix):
            return {replacement + key.removeprefix(prefix): value}
    if key.startswith(FIELD_PREFIX):
        return {}
    if key not in rules:
        raise ValidationException(f"'{key}' has no translation for the connector '{kind}'; known are {_names(rules)}")
    rule = rules[key]
    if isinstance(rule, str):
        return {rule: value}
    if isinstance(rule, frozenset):
        return _without_effect(key, value, rule)
    return {} if rule is None else rule(value)


def _without_effect(key: str, value: str, allowed: frozenset[str]) -> dict[str, str]:
    if value.lower() not in allowed:
        raise ValidationException(f"'{key}' = '{value}' is not supported; the only values are {_names(allowed)}")
    return {}


def _without_indices(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with lists such as `connector.properties.0.key` as they are written since Flink 1.10."""
    plain: dict[str, str] = {}
    lists: dict[str, dict[str, dict[str, str]]] = {}
    for key, value in properties.items():
        found = _INDEXED.fullmatch(key)
        if found is None:
            plain[key] = value
        else:
            lists.setdefault(found[1], {}).setdefault(found[2], {})[found[3]] = value
    for name, entries in lists.items():
        try:
            plain |= _LISTS[name](name, entries.values())
        except KeyError as missing:
            raise ValidationException(f"an entry of '{name}' has no '{missing.args[0]}'") from None
    return plain


def _pairs(name: str, entries: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {f"{name}.{entry['key']}": entry["value"] for entry in entries}


def _hosts(name: str, entries: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: ";".join("{protocol}://{hostname}:{port}".format(**entry) for entry in entries)}


def _offsets(name: str, entries: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: ";".join("partition:{partition},offset:{offset}".format(**entry) for entry in entries)}


_LISTS = {
    "connector.properties": _pairs,
    "connector.hosts": _hosts,
    "connector.specific-offsets": _offsets,
}


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
