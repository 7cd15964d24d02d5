"""Reading the state of a program in the processes that run the program, and so may run what its values need."""

from __future__ import annotations

import pickle

from firesteel.common.encoding import NamedEntries, decoded, decoded_entries, is_encoded
from firesteel.common.encoding.kinds import Value


def program_value(data: bytes) -> Value:
    """Return a value with the objects of the program's classes in it; earlier releases have pickled it as a whole.

    Example:
        >>> from firesteel.common.encoding import encoded
        >>> program_value(encoded([1, 2]))
        [1, 2]
    """
    return decoded(data, _unpickled) if is_encoded(data) else _unpickled(data)


def program_entries(data: bytes) -> NamedEntries:
    """Return the name of a state, and its entries with the objects of the program's classes in them.

    Example:
        >>> from firesteel.common.encoding import encoded_entries
        >>> program_entries(encoded_entries("count", {"a": 1}))
        ('count', {'a': 1})
    """
    if is_encoded(data):
        return decoded_entries(data, _unpickled)
    entries: NamedEntries = _unpickled(data)
    return entries


def _unpickled(data: bytes) -> Value:
    return pickle.loads(data)
