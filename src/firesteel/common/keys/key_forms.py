"""Canonical forms of keys: nested tuples of plain values that are equal exactly if PyFlink's pickled bytes are.

A form contains what `pickle` would write, as a tag and the forms of the parts. It omits what depends on the process or
on the identity of the parts. Classes and functions are represented by module and name. All NaNs have the same form, and
so do sets with equal elements.
"""

from __future__ import annotations

import copyreg
import datetime
import io
import math
import pickle
import struct
import sys
import types
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from importlib import import_module
from typing import Any

from firesteel.errors import FiresteelError

_ATOMS = frozenset({int, str, bytes, type(None), datetime.date, datetime.timedelta})
_PLAIN_FORMS = _ATOMS | {bool, datetime.datetime, datetime.time}
"""Classes of forms that are no tuples."""

_FLOAT = struct.Struct(">d")
_NAN = _FLOAT.pack(math.nan)
_PROTOCOL = 5
_KNOWN_PACKAGES = sys.stdlib_module_names | {"firesteel"}
"""Packages whose classes can be imported by name in each process."""


class KeyFormError(FiresteelError, TypeError):
    """A value cannot be a key: it cannot be pickled, or it refers to itself."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind = kind
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"a key of class {self.kind} cannot be compared: {self.reason}; let the key selector return a value that "
            "can be pickled, such as a str, an int or a tuple of them"
        )


def form_of(key: object) -> object:
    """Return the form of a key.

    Raises:
        KeyFormError: the key cannot be pickled, or refers to itself.
    """
    try:
        return _form(key)
    except RecursionError:
        raise KeyFormError(type(key).__qualname__, "it refers to itself or is nested too deeply") from None
    except KeyFormError:
        raise
    except Exception as error:
        raise KeyFormError(type(key).__qualname__, f"{type(error).__name__}: {error}") from error


def _form(value: object) -> object:
    kind = value.__class__
    if kind in _ATOMS:
        return value
    build = _BUILDERS.get(kind)
    if build is not None:
        return build(value)
    if isinstance(value, type):
        return "global", value.__module__, value.__qualname__
    return _reduced_form(value, kind)


def _float_form(value: float) -> object:
    return "float", _FLOAT.pack(value) if value == value else _NAN


def _dict_form(value: dict[Any, Any]) -> object:
    return ("dict", *[_form(part) for entry in value.items() for part in entry])


def _set_form(value: Any) -> object:
    # By bytes, as elements of different classes cannot be compared, and hashes of texts differ between processes.
    return (type(value).__name__, *sorted(map(_form, value), key=form_bytes))


def _time_form(value: Any) -> object:
    return value if value.tzinfo is None and not value.fold else _reduced_form(value, type(value))


def _function_form(value: Any) -> object:
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return "reduce", ("global", "builtins", "getattr"), ("tuple", _form(owner), value.__name__), None, None, None
    if "<" in value.__qualname__:
        raise TypeError(f"the function {value.__qualname__} cannot be imported by name")
    return "global", value.__module__, value.__qualname__


_BUILDERS: dict[type[Any], Callable[[Any], Any]] = {
    bool: lambda value: ("bool", value),
    float: _float_form,
    tuple: lambda value: ("tuple", *map(_form, value)),
    list: lambda value: ("list", *map(_form, value)),
    dict: _dict_form,
    set: _set_form,
    frozenset: _set_form,
    bytearray: lambda value: ("bytearray", bytes(value)),
    datetime.datetime: _time_form,
    datetime.time: _time_form,
    types.FunctionType: _function_form,
    types.BuiltinFunctionType: _function_form,
}


def _reduced_form(value: object, kind: type[Any]) -> object:
    """Return the form of an object from what `pickle` would write for it."""
    reducer = copyreg.dispatch_table.get(kind)
    reduced: Any = value.__reduce_ex__(_PROTOCOL) if reducer is None else reducer(value)
    if isinstance(reduced, str):
        return "global", value.__module__, reduced
    # State, list items and dict entries are optional.
    function, args, state, items, entries = (tuple(reduced) + (None,) * 3)[:5]
    return (
        "reduce",
        _form(function),
        _form(args),
        _form(state),
        None if items is None else _form(list(items)),
        None if entries is None else _form(list(entries)),
    )


def is_rebuildable(form: object) -> bool:
    """Return whether `rebuilt` can restore the key from its form in any process."""
    if form.__class__ is not tuple:
        return True
    if form[0] == "global":
        return form[1].partition(".")[0] in _KNOWN_PACKAGES
    return all(map(is_rebuildable, form[1:]))


def is_made_of(form: object, named: Mapping[str, Collection[str]]) -> bool:
    """Return whether a form is well-formed, and refers to listed classes and functions only.

    Args:
        form: Anything: files that others wrote may hold any form.
        named: Names of classes and functions by module.
    """
    if form.__class__ is not tuple:
        return form.__class__ in _PLAIN_FORMS
    assert isinstance(form, tuple)
    if not form or form[0] not in _REBUILDERS:
        return False
    if form[0] == "global":
        return len(form) == 3 and form[2] in named.get(form[1], ())
    return all(is_made_of(part, named) for part in form[1:])


def has_set(form: object) -> bool:
    """Return whether the key contains a set, whose elements `pickle` would write in arbitrary order."""
    return form.__class__ is tuple and (form[0] in ("set", "frozenset") or any(map(has_set, form[1:])))


def form_bytes(form: object) -> bytes:
    """Return bytes of a form that are the same in each process."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=_PROTOCOL)
    pickler.fast = True  # no memo: its references would depend on the identity of the parts, not on their values
    pickler.dump(form)
    return buffer.getvalue()


# --- back to the key -------------------------------------------------------------------------------------------------


def rebuilt(form: Any) -> Any:
    """Return a new key from a rebuildable form, in which no part is shared unless Python interns it.

    So `pickle` writes the same bytes for it in each process.
    """
    kind = form.__class__
    if kind is tuple:
        return _REBUILDERS[form[0]](*form[1:])
    # Copies strings and bytes of length 2 or more.
    return form[:1] + form[1:] if kind is str or kind is bytes else form


def _parts(*forms: object) -> list[Any]:
    return list(map(rebuilt, forms))


def _entries(*forms: object) -> dict[Any, Any]:
    parts = iter(map(rebuilt, forms))
    return dict(zip(parts, parts, strict=True))


def _named(module: str, name: str) -> object:
    return reduce(getattr, name.split("."), import_module(module))


def _made(function: object, args: object, state: object, items: object, entries: object) -> Any:
    made = rebuilt(function)(*rebuilt(args))
    if state is not None:
        _set_state(made, rebuilt(state))
    for item in rebuilt(items) or ():
        made.append(item)
    for key, value in rebuilt(entries) or ():
        made[key] = value
    return made


def _set_state(made: object, state: object) -> None:
    """Set the state of an object as `pickle` does."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in (attributes or {}).items():
        # A name that two objects share is written once, and then as a reference: without interning the bytes would
        # differ.
        made.__dict__[sys.intern(name)] = value
    for name, value in (slots or {}).items():
        setattr(made, name, value)


_REBUILDERS: dict[str, Callable[..., object]] = {
    "bool": lambda value: value,
    "float": lambda data: _FLOAT.unpack(data)[0],
    "tuple": lambda *forms: tuple(_parts(*forms)),
    "list": _parts,
    "dict": _entries,
    "set": lambda *forms: set(_parts(*forms)),
    "frozenset": lambda *forms: frozenset(_parts(*forms)),
    "bytearray": bytearray,
    "global": _named,
    "reduce": _made,
}
