"""Readers of state files that run no code: they create plain data and the classes of a table only.

| reader | reads | values that are pickled |
|---|---|---|
| `load_metadata` | `_metadata` and restore plans | refused |
| `load_frame` | frames of version files; keyed state inside stays bytes | refused |
| `load_sources` | positions of splits | refused |
| `load_committables` | committables of sinks | refused, unless the job has committables of its own |
| `inert_entries` | state of users, to describe it | become inert values |
| `state_entries` | state of users, for their programs | are read by `pickle`; plain data is not |

Files of format versions up to 6 are pickles as a whole, in which the same is allowed. `pickle.loads` on users' state is
left to the process that runs the users' code (`common.encoding.program_values`).
"""

from __future__ import annotations

import io
import pickle
import reprlib
from typing import Any

from firesteel.common.encoding import NamedEntries, decoded, decoded_entries, is_encoded
from firesteel.common.encoding.kinds import Value
from firesteel.common.encoding.program_values import program_value
from firesteel.common.keys.canonical_keys import ValueKey, key_of
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.trust.restricted_pickle import VALUES, load_listed
from firesteel.task.moved_modules import MOVED

__all__ = [
    "inert_entries",
    "load_committables",
    "load_frame",
    "load_inert",
    "load_metadata",
    "load_sources",
    "state_entries",
]

_METADATA = {
    "firesteel.task.checkpoint_metadata": ("CheckpointMetadata", "RegionState", "VertexLayout"),
    "firesteel.task.restore": ("RestorePlan",),
    "firesteel.task.versions": ("VersionFile",),
}
_FRAME = {"collections": ("Counter",), "firesteel.operators.exchange.input_gate": ("_Valve",)}
_SOURCES = {
    "firesteel.coordinator.source_splits": ("SourceState", "_unpack_keys"),
    "firesteel.functions.splits": ("Split", "Stop"),
}
_COMMITTABLES = {
    **VALUES,
    "firesteel.common.files.multipart": ("UploadPart",),
    "firesteel.functions.connector_base": ("CommitRequest",),
    "firesteel.connectors.files.committer": ("FinishedPart", "LeftoverParts"),
    "firesteel.connectors.kafka.writer": ("PreparedRecords",),
    "firesteel.connectors.files.remote_committer": (
        "ForgottenObjects",
        "RemoteLeftovers",
        "StagedPart",
        "UploadedPart",
    ),
    "firesteel.connectors.staging": ("PreparedRows",),
    "firesteel.operators.sinks.committables": ("SinkCommittables",),
}
_SHOWN = {
    **VALUES,
    "builtins": (*VALUES["builtins"], "Ellipsis"),  # in canonical keys
    "firesteel.common.time": ("Instant",),
    "firesteel.common.types": ("Row", "RowKind", "_make_row"),
    "firesteel.columns.row_keys": ("NAN",),
    "firesteel.operators.state.list_part": ("ListPart",),
    "firesteel.operators.state.state_table": ("DELETED",),
}


def load_metadata(data: bytes) -> Any:
    """Return the metadata of a checkpoint, or a restore plan.

    Raises:
        NotDataError: (all readers) the data contains something that is no data.
        pickle.UnpicklingError: (all readers) an earlier release has written it, and a class is not in the table.
    """
    return decoded(data) if is_encoded(data) else load_listed(data, "a checkpoint's metadata", _METADATA, MOVED)


def load_frame(data: bytes) -> Any:
    """Return a frame of a version file."""
    return decoded(data) if is_encoded(data) else load_listed(data, "a frame of a version file", _FRAME, MOVED)


def load_sources(data: bytes) -> Any:
    """Return the states of sources by operator id."""
    return decoded(data) if is_encoded(data) else load_listed(data, "the position of a source", _SOURCES, MOVED)


def load_committables(data: bytes, has_own: bool) -> Any:
    """Return the committables of a checkpoint.

    Args:
        data: The committables, from a verified file where the cluster has a secret.
        has_own: Whether a sink of the job has committables of its own classes, so that this process, which runs its
            committer, reads all classes.
    """
    if has_own:
        return program_value(data)
    return decoded(data) if is_encoded(data) else load_listed(data, "what a sink commits", _COMMITTABLES, MOVED)


class _Inert:
    """A value of a class that is not imported: it shows its class and what it was made of, and does nothing."""

    _parts: list[object]

    def __new__(cls, *arguments: object, **named: object) -> _Inert:
        made = super().__new__(cls)
        made._parts = [*arguments, *named.values()]
        return made

    def __setstate__(self, state: object) -> None:
        self._parts.append(state)

    def __setitem__(self, key: object, value: object) -> None:
        self._parts.append((key, value))

    def append(self, item: object) -> None:
        self._parts.append(item)

    def __call__(self, *arguments: object) -> _Inert:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inert) and (type(self).__module__, repr(self)) == (
            type(other).__module__,
            repr(other),
        )

    def __hash__(self) -> int:
        return hash(repr(self))

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._parts))})"


_VALUE_KEY = ValueKey.__module__, ValueKey.__qualname__


class _InertUnpickler(pickle.Unpickler):
    """Creates inert values in place of all classes and functions that are not plain values.

    Attributes:
        is_plain: Whether there was none.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self._inert: dict[tuple[str, str], type[_Inert]] = {}
        self.is_plain = True

    def find_class(self, module: str, name: str) -> object:
        module = MOVED.get(module, module)
        if name in _SHOWN.get(module, ()):
            return super().find_class(module, name)
        if (module, name) == _VALUE_KEY:
            return self._key_class()
        self.is_plain = False
        return self._inert.setdefault((module, name), _inert_class(module, name))

    def _key_class(self) -> type:
        """Return a class that creates canonical keys, or inert values if a key refers to other classes."""

        def made(_: type, parts: object) -> object:
            match parts:
                case (first, form) if first is ... and is_made_of(form, _SHOWN):
                    key = ValueKey(parts)
                    key_of(key)  # A damaged form is an error here and not where the key is shown.
                    return key
            self.is_plain = False
            return _inert_class(*_VALUE_KEY)(parts)

        return type(_VALUE_KEY[1], (), {"__new__": made})

    def persistent_load(self, pid: object) -> object:
        self.is_plain = False
        return _Inert(pid)


def _inert_class(module: str, name: str) -> type[_Inert]:
    return type(name.rpartition(".")[2], (_Inert,), {"__module__": module})


def inert_entries(data: bytes) -> NamedEntries:
    """Return entries of a state, in which values of other classes are inert: nothing is imported, and no code runs.

    Raises:
        NotDataError: the data is not in the form of data.
        pickle.UnpicklingError: values cannot be shown.
    """
    if is_encoded(data):
        return decoded_entries(data, load_inert)
    entries: NamedEntries = load_inert(data)
    return entries


def load_inert(data: bytes) -> Value:
    """Return pickled values, those of other classes inert, as `inert_entries` does."""
    try:
        return _InertUnpickler(data).load()
    except Exception as error:  # Anything can be in a file that anyone may have written.
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


def state_entries(data: bytes) -> NamedEntries:
    """Return entries of a state: of plain data without running anything, of other classes with `pickle`.

    Values of all declared types are plain data, see `tests/task/test_typed_values.py`.
    """
    if is_encoded(data):
        return decoded_entries(data, _load_state)
    entries: NamedEntries = _load_state(data)
    return entries


def _load_state(data: bytes) -> Value:
    unpickler = _InertUnpickler(data)
    try:
        found: object = unpickler.load()
    except Exception:  # The error is that of `pickle`.
        return pickle.loads(data)
    return found if unpickler.is_plain else pickle.loads(data)
