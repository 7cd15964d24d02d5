"""Sets of status codes such as `2XX,404,!203`."""

from __future__ import annotations

import re

_PART = re.compile(r"(!?)([1-5])(XX|\d\d)")


def status_codes(text: str) -> frozenset[int]:
    """Return the codes that a text names: codes and groups such as `2XX`, without those after `!`.

    Raises:
        ValueError: a part is neither a code nor a group.
    """
    included: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _PART.fullmatch(part.upper())
        if found is None or (found[1] and found[3] == "XX"):
            raise ValueError(f"{part!r} is neither a status code, such as 404 or !404, nor a group, such as 2XX")
        first = int(found[2]) * 100
        codes = range(first, first + 100) if found[3] == "XX" else [int(found[2] + found[3])]
        (excluded if found[1] else included).update(codes)
    return frozenset(included - excluded)
