"""Readers of the pickles in state files that run no code: they create plain data and the classes of a table only.

| reader | reads | other classes |
|---|---|---|
| `load_metadata` | `_metadata` and restore plans | refused |
| `load_frame` | frames of version files; keyed state inside stays bytes | refused |
| `load_sources` | positions of splits | refused |
| `load_committables` | committables of sinks | refused, unless the job has committables of its own |
| `load_inert` | state of users, to describe it | become inert values |
| `load_state` | state of users, for their programs | are read by `pickle`; plain data is not |

`pickle.loads` on users' state is left to the process that runs the users' code.
"""

from __future__ import annotations

import io
import pickle
import reprlib
from typing import Any

from firesteel.common.keys.canonical_keys import ValueKey, key_of
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.trust.restricted_pickle import VALUES, load_listed
from firesteel.task.moved_modules import MOVED

__all__ = ["load_committables", "load_frame", "load_inert", "load_metadata", "load_sources", "load_state"]

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
        pickle.UnpicklingError: (all readers) the data contains a class that is not in the table.
    """
    return load_listed(data, "a checkpoint's metadata", _METADATA, MOVED)


def load_frame(data: bytes) -> Any:
    """Return a frame of a version file."""
    return load_listed(data, "a frame of a version file", _FRAME, MOVED)


def load_sources(data: bytes) -> Any:
    """Return the states of sources by operator id."""
    return load_listed(data, "the position of a source", _SOURCES, MOVED)


def load_committables(data: bytes, has_own: bool) -> Any:
    """Return the committables of a checkpoint.

    Args:
        data: The pickled committables, from a verified file where the cluster has a secret.
        has_own: Whether a sink of the job has committables of its own classes, so that this process, which runs its
            committer, reads all classes.
    """
    return pickle.loads(data) if has_own else load_listed(data, "what a sink commits", _COMMITTABLES, MOVED)


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


def load_inert(data: bytes) -> object:
    """Return state of users, in which values of other classes are inert: nothing is imported, and no code runs.

    Raises:
        pickle.UnpicklingError: the data cannot be shown.
    """
    try:
        return _InertUnpickler(data).load()
    except Exception as error:  # Anything can be in a file that anyone may have written.
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


def load_state(data: bytes) -> object:
    """Return state of users: of plain data without running anything, of other classes with `pickle`.

    Values of all declared types are plain data, see `tests/task/test_state_types.py`.
    """
    unpickler = _InertUnpickler(data)
    try:
        found: object = unpickler.load()
    except Exception:  # The error is that of `pickle`.
        return pickle.loads(data)
    return found if unpickler.is_plain else pickle.loads(data)
