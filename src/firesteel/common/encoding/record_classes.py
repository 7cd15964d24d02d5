"""The classes of firesteel whose objects are data in files: by names that do not change when a class moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from enum import Enum
from functools import cache, reduce
from importlib import import_module

from firesteel.common.encoding.kinds import NotDataError, Value, Values

CLASSES: dict[str, str] = {
    "CheckpointMetadata": "firesteel.task.checkpoint_metadata",
    "RegionState": "firesteel.task.checkpoint_metadata",
    "VertexLayout": "firesteel.task.checkpoint_metadata",
    "RestorePlan": "firesteel.task.restore",
    "VersionFile": "firesteel.task.versions",
    "SourceState": "firesteel.coordinator.source_splits",
    "KnownKeys": "firesteel.coordinator.source_splits",
    "Split": "firesteel.functions.splits",
    "Stop": "firesteel.functions.splits",
    "CommitRequest": "firesteel.functions.connector_base",
    "SinkCommittables": "firesteel.operators.sinks.committables",
    "UploadPart": "firesteel.common.files.multipart",
    "FinishedPart": "firesteel.connectors.files.committer",
    "LeftoverParts": "firesteel.connectors.files.committer",
    "ForgottenObjects": "firesteel.connectors.files.remote_committer",
    "RemoteLeftovers": "firesteel.connectors.files.remote_committer",
    "StagedPart": "firesteel.connectors.files.remote_committer",
    "UploadedPart": "firesteel.connectors.files.remote_committer",
    "PreparedRows": "firesteel.connectors.staging",
    "PreparedRecords": "firesteel.connectors.kafka.writer",
    "_Valve": "firesteel.operators.exchange.input_gate",
    "_AscendingWatermarks": "firesteel.operators.sources.watermarks",
    "ListPart": "firesteel.operators.state.list_part",
    "Deleted": "firesteel.operators.state.state_table",
    "TimeWindow": "firesteel.functions.windows",
    "GlobalWindow": "firesteel.functions.windows",
    "CountWindow": "firesteel.functions.windows",
    "RowKind": "firesteel.common.types",
    "ColumnBatch": "firesteel.columns.batch",
    "_NotANumber": "firesteel.columns.row_keys",
    "NfaState": "firesteel.operators.cep.partial_match",
}
"""Name of the class -> its module. Names are for ever: a class that is renamed keeps its name here.

The fields of an object are those of its dataclass or named tuple, or `DATA_FIELDS`. It is made of them by its
`from_data`, or by a call of its class.
"""

SINGLE_OBJECTS = {"Deleted": "DELETED", "_NotANumber": "NAN"}
"""Classes with one object -> the name of that object in the module."""


def is_record(kind: type) -> bool:
    """Return whether the objects of a class are data."""
    # A program may have a class of the same name.
    return CLASSES.get(kind.__qualname__) == kind.__module__


def name_of(kind: type) -> str:
    """Return the name of a class in files."""
    return kind.__qualname__


@cache
def is_changeable(kind: Value) -> bool:
    """Return whether objects of a class can be changed, so that it matters where else they are referred to."""
    if dataclasses.is_dataclass(kind):
        return not getattr(kind, "__dataclass_params__").frozen  # noqa: B009  # it has no type
    return _fields_of(kind) is None


@cache
def _fields_of(kind: Value) -> tuple[str, ...] | None:
    """Return the names of the fields of a class, None if each object has its own."""
    if kind.__qualname__ in SINGLE_OBJECTS:
        return ()
    if issubclass(kind, Enum):
        return ("name",)
    named: tuple[str, ...] | None = getattr(kind, "DATA_FIELDS", getattr(kind, "_fields", None))
    if named is None and dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return named


def parts_of(values: Values) -> tuple[tuple[str, ...], list[list[Value]]]:
    """Return the names of the fields of objects of one class, and their values."""
    kind: Value = type(values[0])
    fields = _fields_of(kind)
    if fields is None:
        fields = tuple(vars(values[0]))
    return fields, [[getattr(value, name) for name in fields] for value in values]


@cache
def _class_of(name: str) -> Value:
    if name not in CLASSES:
        raise NotDataError(f"class {name!r}, which this release does not know")
    return reduce(getattr, name.split("."), import_module(CLASSES[name]))


def made_of(name: str, fields: Sequence[str], columns: Sequence[Values], count: int) -> list[Value]:
    """Return objects of a class with values of some fields; others have their defaults.

    Raises:
        NotDataError: the class, or a field of it, is not known to this release.
    """
    kind = _class_of(name)
    if name in SINGLE_OBJECTS:
        return [getattr(import_module(CLASSES[name]), SINGLE_OBJECTS[name])] * count
    rows = zip(*columns, strict=True) if columns else [()] * count
    known = _fields_of(kind)
    if known is None:
        return [_with_attributes(kind, fields, row) for row in rows]
    unknown = set(fields) - set(known)
    if unknown:
        raise NotDataError(f"field {min(unknown)!r} of {name}, which this release does not know")
    if issubclass(kind, Enum):
        return [kind[text] for (text,) in rows]
    make = getattr(kind, "from_data", kind)
    return [make(**dict(zip(fields, row, strict=True))) for row in rows]


def _with_attributes(kind: Value, fields: Sequence[str], values: Values) -> Value:
    made = kind.__new__(kind)
    made.__dict__.update(zip(fields, values, strict=True))
    return made
