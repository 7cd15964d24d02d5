"""Names of what tables of states keep, whose types users choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Entry = Any
"""Where a table keeps a value: a key, or a tuple of a key with a namespace, a key of a map or a timer."""

Stored = Any
"""A value of a state, or a key of a map; its type is that of the user's descriptor."""

Delta = tuple[str, Mapping[Entry, Stored]]
"""State name, and values by entry, with `DELETED` for removed entries, `ListPart` for lists that grew."""
