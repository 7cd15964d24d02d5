"""The properties of tables up to Flink 1.10 and what each is today; a property that no rule names is refused.

A rule is the name of today's option, None if the property has no effect any more, a set of the only values that have
no effect, or a function from the value to today's options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Rule = str | None | frozenset[str] | Callable[[str], dict[str, str]]


def _milliseconds(option: str) -> Callable[[str], dict[str, str]]:
    """Return a rule for a number of milliseconds, which may also be a duration such as `5s`."""
    return lambda value: {option: f"{value} ms" if value.isdigit() else value}


def _only(*values: str) -> frozenset[str]:
    return frozenset(values)


def _comments(prefix: str) -> dict[str, str]:
    if prefix != "#":
        raise NotImplementedError(f"'format.comment-prefix' = '{prefix}': the format csv knows only '#'")
    return {"csv.allow-comments": "true"}


_COMMON: Mapping[str, Rule] = {"connector.property-version": None, "format.property-version": None}

CONNECTORS: Mapping[str, tuple[str, Mapping[str, Rule]]] = {
    "kafka": (
        "kafka",
        {
            **_COMMON,
            "connector.version": None,
            "connector.topic": "topic",
            "connector.startup-mode": "scan.startup.mode",
            "connector.specific-offsets": "scan.startup.specific-offsets",
            "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
            "connector.sink-partitioner": "sink.partitioner",
            "update-mode": _only("append"),
        },
    ),
    "filesystem": ("filesystem", {**_COMMON, "connector.path": "path", "update-mode": _only("append")}),
    "elasticsearch": (
        "elasticsearch",
        {
            **_COMMON,
            "connector.version": lambda version: {"connector": f"elasticsearch-{version}"},
            "connector.hosts": "hosts",
            "connector.index": "index",
            "connector.document-type": "document-type",
            "connector.key-delimiter": "document-id.key-delimiter",
            "connector.key-null-literal": _only("null"),
            "connector.failure-handler": "failure-handler",
            "connector.flush-on-checkpoint": "sink.flush-on-checkpoint",
            "connector.bulk-flush.max-actions": "sink.bulk-flush.max-actions",
            "connector.bulk-flush.max-size": "sink.bulk-flush.max-size",
            "connector.bulk-flush.interval": _milliseconds("sink.bulk-flush.interval"),
            "connector.bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
            "connector.bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
            "connector.bulk-flush.backoff.delay": _milliseconds("sink.bulk-flush.backoff.delay"),
            "connector.connection-path-prefix": "connection.path-prefix",
            "update-mode": _only("append", "upsert"),
        },
    ),
    "jdbc": (
        "jdbc",
        {
            **_COMMON,
            "connector.url": "url",
            "connector.table": "table-name",
            "connector.driver": "driver",
            "connector.username": "username",
            "connector.password": "password",
            "connector.read.partition.column": "scan.partition.column",
            "connector.read.partition.num": "scan.partition.num",
            "connector.read.partition.lower-bound": "scan.partition.lower-bound",
            "connector.read.partition.upper-bound": "scan.partition.upper-bound",
            "connector.read.fetch-size": "scan.fetch-size",
            "connector.lookup.cache.max-rows": "lookup.cache.max-rows",
            "connector.lookup.cache.ttl": "lookup.cache.ttl",
            "connector.lookup.max-retries": "lookup.max-retries",
            "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
            "connector.write.flush.interval": "sink.buffer-flush.interval",
            "connector.write.max-retries": "sink.max-retries",
            "update-mode": _only("append", "upsert"),
        },
    ),
}
"""Today's name and the rules of each connector, by its name in Flink 1."""

PREFIXES: Mapping[str, Mapping[str, str]] = {"kafka": {"connector.properties.": "properties."}}
"""Properties of each connector that are passed on by their beginning, and its replacement."""

_FIELDS: Mapping[str, Rule] = {"format.schema": None, "format.derive-schema": None}

FORMATS: Mapping[str, Mapping[str, Rule]] = {
    "json": {
        **_FIELDS,
        "format.json-schema": None,
        "format.fail-on-missing-field": "json.fail-on-missing-field",
        "format.ignore-parse-errors": "json.ignore-parse-errors",
    },
    "csv": {
        **_FIELDS,
        "format.field-delimiter": "csv.field-delimiter",
        "format.line-delimiter": _only("\n", "\\n", ""),
        "format.quote-character": "csv.quote-character",
        "format.disable-quote-character": "csv.disable-quote-character",
        "format.allow-comments": "csv.allow-comments",
        "format.ignore-parse-errors": "csv.ignore-parse-errors",
        "format.array-element-delimiter": "csv.array-element-delimiter",
        "format.escape-character": "csv.escape-character",
        "format.null-literal": "csv.null-literal",
        "format.comment-prefix": _comments,
        "format.ignore-first-line": "csv.ignore-first-line",
    },
    "avro": {"format.avro-schema": None, **_FIELDS},
}
"""The rules of each format, by its name in Flink 1 and today; the table's columns are the format's fields today."""

FIELD_PREFIX = "format.fields."
"""Beginning of the properties that repeat the columns for a format."""
