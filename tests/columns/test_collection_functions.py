import pytest

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.type_text import type_text
from tests.columns.rexes import call, column, lit, run

INTS = "ARRAY<INT NOT NULL> NOT NULL"
MAP = "MAP<STRING, STRING> NOT NULL"
ONE = lit(1, "INT NOT NULL")


def both(rex):
    return run(rex)[0], type_text(rex.type)


def test_constructors():
    array = call("ARRAY", ONE, lit(2, "BIGINT NOT NULL"))
    assert both(array) == ([1, 2], "ARRAY<BIGINT NOT NULL> NOT NULL")
    rex = call("MAP", lit("a", "CHAR(1) NOT NULL"), ONE, lit("a", "CHAR(1) NOT NULL"), lit(2, "INT NOT NULL"))
    assert both(rex) == ([("a", 2)], "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL")
    rex = call("ROW", ONE, column(0, "STRING"))
    assert type_text(rex.type) == "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` STRING> NOT NULL"
    assert run(rex, ("STRING", ["x", None])) == [{"EXPR$0": 1, "EXPR$1": "x"}, {"EXPR$0": 1, "EXPR$1": None}]
    with pytest.raises(FunctionError, match="even number"):
        call("MAP", ONE)


def test_access():
    row = column(0, "ROW<`a` INT NOT NULL, `b` STRING>")
    field = call("DOT", row, lit("a", "CHAR(1)"))
    assert type_text(field.type) == "INT"
    assert run(field, ("ROW<`a` INT, `b` STRING>", [(1, "x"), None])) == [1, None]
    with pytest.raises(FunctionError, match="Field 'z' not found"):
        call("DOT", row, lit("z", "CHAR(1)"))
    xs = column(0, "ARRAY<INT> NOT NULL")
    assert run(call("ITEM", xs, ONE), ("ARRAY<INT>", [[7], []])) == [7, None]
    with pytest.raises(FunctionError, match="starting at 1"):
        call("ITEM", xs, lit(0, "INT"))
    pairs = column(0, MAP)
    assert run(call("ITEM", pairs, lit("k", "CHAR(1)")), (MAP, [{"k": "x"}, {}])) == ["x", None]


@pytest.mark.parametrize(
    ("name", "operands", "result", "data_type"),
    [
        ("CARDINALITY", [(MAP, {"k": "x", "z": "y"})], 2, "INT NOT NULL"),
        ("ELEMENT", [("ARRAY<CHAR(4) NOT NULL> NOT NULL", ["only"])], "only", "CHAR(4) NOT NULL"),
        ("MAP_KEYS", [(MAP, {"k": "x"})], ["k"], "ARRAY<STRING> NOT NULL"),
        ("MAP_VALUES", [(MAP, {"k": "x"})], ["x"], "ARRAY<STRING> NOT NULL"),
        (
            "MAP_ENTRIES",
            [("MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL", {"a": 1})],
            [{"key": "a", "value": 1}],
            "ARRAY<ROW<`key` CHAR(1) NOT NULL, `value` INT NOT NULL>> NOT NULL",
        ),
        (
            "MAP_FROM_ARRAYS",
            [("ARRAY<CHAR(1) NOT NULL> NOT NULL", ["a", "b"]), (INTS, [1, 2])],
            [("a", 1), ("b", 2)],
            "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL",
        ),
        ("MAP_UNION", [(MAP, {"k": "x"}), (MAP, {"k": "y", "z": "1"})], [("k", "y"), ("z", "1")], MAP),
        ("ARRAY_CONTAINS", [("ARRAY<INT> NOT NULL", [1, 2]), ("INT NOT NULL", 2)], True, "BOOLEAN NOT NULL"),
        ("ARRAY_DISTINCT", [(INTS, [1, 1, 2])], [1, 2], INTS),
        ("ARRAY_POSITION", [("ARRAY<INT> NOT NULL", [1, 2]), ("INT NOT NULL", 2)], 2, "INT NOT NULL"),
        ("ARRAY_REMOVE", [(INTS, [1, 2, 1]), ("INT NOT NULL", 1)], [2], INTS),
        ("ARRAY_REVERSE", [(INTS, [1, 2, 3])], [3, 2, 1], INTS),
        ("ARRAY_UNION", [(INTS, [1, 2]), (INTS, [2, 3])], [1, 2, 3], INTS),
        ("ARRAY_EXCEPT", [(INTS, [1, 2, 2]), (INTS, [1])], [2], INTS),
        ("ARRAY_INTERSECT", [(INTS, [1, 2, 2]), (INTS, [2])], [2], INTS),
        ("ARRAY_CONCAT", [(INTS, [1]), (INTS, [2, 3])], [1, 2, 3], INTS),
        ("ARRAY_MAX", [(INTS, [1, 3, 2])], 3, "INT"),
        ("ARRAY_MIN", [("ARRAY<INT>", [None, 3, 2])], 2, "INT"),
        (
            "ARRAY_JOIN",
            [("ARRAY<CHAR(1) NOT NULL> NOT NULL", ["a", "b"]), ("STRING NOT NULL", "-")],
            "a-b",
            "STRING NOT NULL",
        ),
        ("ARRAY_SLICE", [(INTS, [1, 2, 3, 4]), ("INT NOT NULL", 2), ("INT NOT NULL", 3)], [2, 3], INTS),
        ("ARRAY_SLICE", [(INTS, [1, 2, 3, 4]), ("INT NOT NULL", -2)], [3, 4], INTS),
        ("ARRAY_APPEND", [(INTS, [1]), ("INT NOT NULL", 2)], [1, 2], INTS),
        ("ARRAY_PREPEND", [(INTS, [1]), ("INT", None)], [None, 1], "ARRAY<INT>"),
        ("ARRAY_SORT", [(INTS, [3, 1, 2])], [1, 2, 3], INTS),
        ("ARRAY_SORT", [("ARRAY<INT>", [3, None, 2]), ("BOOLEAN", False)], [3, 2, None], "ARRAY<INT>"),
    ],
)  # fmt: skip
def test_functions(name, operands, result, data_type):
    assert both(call(name, *[lit(value, text) for text, value in operands])) == (result, data_type)


def test_null_collections():
    rows = ("ARRAY<INT>", [None, []])
    xs = column(0, "ARRAY<INT>")
    assert run(call("CARDINALITY", xs), rows) == [None, 0]
    assert run(call("ELEMENT", xs), rows) == [None, None]
    assert run(call("ARRAY_CONTAINS", xs, lit(None, "INT")), ("ARRAY<INT>", [None, [None]])) == [None, True]


def test_constant_collections_of_no_rows():
    assert run(call("SPLIT", lit("a,b", "STRING"), lit(",", "STRING")), ("INT", [])) == []


def test_null_keys_are_refused():
    with pytest.raises(FunctionError, match="NULL as a key"):
        run(call("MAP", column(0, "STRING"), ONE), ("STRING", [None]))


MAPS = "ARRAY<MAP<STRING, INT>>"
ONE_WAY, OTHER_WAY = {"a": 1, "b": 2}, {"b": 2, "a": 1}
ENTRIES = list(ONE_WAY.items())


@pytest.mark.parametrize(
    ("name", "operand", "expected"),
    [
        ("ARRAY_CONTAINS", OTHER_WAY, True),
        ("ARRAY_POSITION", OTHER_WAY, 1),
        ("ARRAY_REMOVE", OTHER_WAY, []),
        ("ARRAY_EXCEPT", [OTHER_WAY], []),
        ("ARRAY_INTERSECT", [OTHER_WAY], [ENTRIES]),
        ("ARRAY_UNION", [OTHER_WAY], [ENTRIES]),
        ("=", [OTHER_WAY], True),
        ("<>", [OTHER_WAY], False),
        ("IN", [OTHER_WAY], True),
    ],
)
def test_entries_of_maps_have_no_order(name, operand, expected):
    kind = MAPS if isinstance(operand, list) else "MAP<STRING, INT>"
    assert run(call(name, column(0, MAPS), column(1, kind)), (MAPS, [[ONE_WAY]]), (kind, [operand])) == [expected]


def test_nan_equals_nothing():
    doubles, nan = "ARRAY<DOUBLE>", float("nan")
    distinct = run(call("ARRAY_DISTINCT", column(0, doubles)), (doubles, [[nan, 1.0, nan, 1.0]]))
    assert repr(distinct) == "[[nan, 1.0, nan]]"
    rex = call("ARRAY_EXCEPT", column(0, doubles), column(1, doubles))
    assert repr(run(rex, (doubles, [[nan, 0.0]]), (doubles, [[nan, -0.0]]))) == "[[nan]]"


@pytest.mark.parametrize("name", ["ARRAY_MAX", "ARRAY_MIN", "ARRAY_SORT"])
@pytest.mark.parametrize("element", ["ROW<`a` INT>", "ARRAY<INT>", "MAP<STRING, INT>", "BOOLEAN", "INTERVAL MONTH"])
def test_elements_without_an_order_are_refused(name, element):
    with pytest.raises(FunctionError, match=f"Cannot apply '{name}'"):
        call(name, column(0, f"ARRAY<{element}>"))
