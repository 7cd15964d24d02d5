"""Compares what becomes of values that are declared as a type with what PyFlink's coders make of them."""

from __future__ import annotations

import pytest

from firesteel.common.values.coercion import coercer
from firesteel.compat import alias_pyflink
from firesteel.errors import TypeMismatchError
from tests.flink_recordings.recordings import recorded_coders

ARRAYS = ("INTS", "DOUBLES", "LIST")
ROWS = ("ROW", "NAMED")
TAKEN = {
    "None is a value of each type": {(kind, "None") for kind in recorded_coders() if kind != "INSTANT"},
    "what can be iterated over is an array": {
        (kind, value) for kind in ARRAYS for value in ("()", "(1,)", "Row(1)", "bytearray", "set", "range", "np.array")
    }
    | {("BYTES", value) for value in ("[]", "[1]", "()", "(1,)")},
    "an array of numbers has None as any other": {("INTS", "[None]")},
    "a tuple is what has its fields": {
        ("TUPLE", value)
        for value in (*("[1, 'a']", "Row(1, 'a')", "Row(a=1, b='a')", "Row(a=1, c='a')", "Row(c=1, d='a')"),)
    },
    "a row is what has its fields": {(kind, value) for kind in ROWS for value in ("[1, 'a']", "(1, 'a')", "{}")}
    | {("NAMED", value) for value in ("{'a': 1}", "{'a': None}", "{'a': 1.5}", "{'a': 1, 'b': 'x'}")},
}
"""What firesteel takes and PyFlink refuses, or crashes with."""

REFUSED = {
    "a number with a fraction is no BOOLEAN": {
        ("BOOLEAN", value) for value in ("1.5", "2.0", "Decimal('1.50')", "np.float32")
    },
    "no number is no DECIMAL": {("BIG_DEC", value) for value in ("'1'", "np.int64", "np.float32")},
    "a date has no part": {("SQL_TIME", value) for value in ("datetime", "datetime in UTC", "datetime in the east")},
    "nothing is cut off": {("TUPLE", "(1, 'a', 2)")},
}
"""What PyFlink takes, and firesteel refuses."""


def made(kind: str, value: str) -> str | None:
    """The representation of a value as a type, None if it is refused."""
    alias_pyflink()
    from tests.flink_recordings.coders.matrix import TYPES, VALUES

    coerce = coercer(TYPES[kind])
    assert coerce is not None
    try:
        return repr(coerce(VALUES[value]))
    except TypeMismatchError:
        return None


@pytest.mark.parametrize("kind", recorded_coders())
def test_a_value_becomes_what_pyflink_makes_of_it_or_is_refused(kind: str) -> None:
    taken, refused = set.union(*TAKEN.values()), set.union(*REFUSED.values())
    different = {}
    for value, recorded in recorded_coders()[kind].items():
        found = made(kind, value)
        if found != recorded:
            is_known = (kind, value) in (taken if recorded is None else refused if found is None else ())
            if not is_known:
                different[value] = (recorded, found)
        else:
            assert (kind, value) not in taken | refused, f"{kind} {value} is as in PyFlink"
    assert different == {}
