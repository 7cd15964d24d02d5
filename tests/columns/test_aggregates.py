import pickle
import random
from decimal import Decimal

import pytest

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.row_keys import NAN
from firesteel.columns.type_text import parse_type, type_text
from firesteel.errors import JobExecutionError
from tests.columns.counting import calls_made


def build(name, types, retracts=False):
    aggregate = find_aggregate(name)
    operands = [parse_type(text) for text in types]
    return aggregate.create(operands, aggregate.resolve(operands), retracts)


def run(name, types, rows, retracted=(), retracts=None):
    accumulator = build(name, types, bool(retracted) if retracts is None else retracts)
    state = accumulator.new()
    for row in rows:
        accumulator.add(state, *row)
    for row in retracted:
        accumulator.retract(state, *row)
    state = pickle.loads(pickle.dumps(state))
    return accumulator.value(state)


def rows(*values):
    return [(value,) for value in values]


@pytest.mark.parametrize(
    ("name", "types", "values", "result"),
    [
        ("COUNT", ["INT"], rows(1, None, 3), 2),
        ("COUNT", [], [(), ()], 2),
        ("SUM", ["INT"], rows(2_147_483_647, 1), -2_147_483_648),
        ("SUM", ["INT"], rows(None), None),
        ("$SUM0", ["INT"], rows(None), 0),
        ("SUM", ["DECIMAL(38, 2)"], rows(Decimal("9" * 36 + ".99"), Decimal("0.01")), None),
        ("SUM", ["DECIMAL(10, 2)"], rows(Decimal("1.50"), Decimal("2.25")), Decimal("3.75")),
        ("AVG", ["INT"], rows(1, 4), 2),
        ("AVG", ["INT"], rows(-1, -4), -2),
        ("AVG", ["DECIMAL(3, 1)"], rows(Decimal("1.0"), Decimal("1.0"), Decimal("0.0")), Decimal("0.666667")),
        ("AVG", ["DOUBLE"], rows(1.0, 2.0), 1.5),
        ("MIN", ["STRING"], rows("b", None, "a"), "a"),
        ("MAX", ["INT"], rows(None), None),
        ("FIRST_VALUE", ["INT"], rows(None, 2, 3), 2),
        ("LAST_VALUE", ["INT"], rows(2, 3, None), 3),
        ("LISTAGG", ["STRING"], rows("x", None, "y"), "x,y"),
        ("LISTAGG", ["STRING", "STRING"], [("x", "|"), ("y", "|")], "x|y"),
        ("LISTAGG", ["STRING"], rows(None), None),
        ("COLLECT", ["STRING"], rows("x", "y", "x"), [("x", 2), ("y", 1)]),
        ("ARRAY_AGG", ["INT"], rows(2, None), [2, None]),
        ("STDDEV_POP", ["INT"], rows(1, 4, 1), 1),
        ("VAR_SAMP", ["INT"], rows(1, 4, 1), 3),
        ("VARIANCE", ["DOUBLE"], rows(1.0, 2.0), 0.5),
        ("STDDEV_SAMP", ["INT"], rows(1), None),
        ("APPROX_COUNT_DISTINCT", ["STRING"], rows("x", "x", None, "y"), 2),
        ("JSON_OBJECTAGG", ["STRING", "INT"], [("b", 2), ("a", None)], '{"a":null,"b":2}'),
        ("JSON_ARRAYAGG", ["STRING"], rows("x", None), '["x"]'),
        ("PERCENTILE", ["INT", "DOUBLE NOT NULL"], [(10, 0.3), (20, 0.3), (30, 0.3), (40, 0.3)], pytest.approx(19.0)),
    ],
)
def test_result(name, types, values, result):
    assert run(name, types, values) == result


@pytest.mark.parametrize(
    ("name", "values", "retracted", "result"),
    [
        ("COUNT", (1, 2), (1,), 1),
        ("SUM", (1, 2), (1, 2), None),
        ("AVG", (1, 5), (1,), 5),
        ("MAX", (3, 5, 5), (5,), 5),
        ("MAX", (3, 5), (5,), 3),
        ("MIN", (3, 5), (3, 5), None),
        ("FIRST_VALUE", (3, 5, 3), (3,), 5),
        ("LAST_VALUE", (3, 5), (5,), 3),
        ("ARRAY_AGG", (1, 2, 1), (1,), [2, 1]),
        ("COLLECT", (1, 1), (1,), [(1, 1)]),
        ("VAR_POP", (1, 4, 1, 9), (9,), 2),
    ],
)
def test_retraction(name, values, retracted, result):
    assert run(name, ["INT"], rows(*values), rows(*retracted)) == result


@pytest.mark.parametrize(
    ("name", "types", "grouped", "result"),
    [
        ("SUM", ["DECIMAL(10, 2) NOT NULL"], True, "DECIMAL(38, 2) NOT NULL"),
        ("SUM", ["INT NOT NULL"], False, "INT"),
        ("COUNT", ["INT"], False, "BIGINT NOT NULL"),
        ("AVG", ["INT"], True, "INT"),
        ("COLLECT", ["STRING"], True, "MULTISET<STRING> NOT NULL"),
        ("LISTAGG", ["CHAR(1)"], True, "CHAR(1)"),
        ("JSON_ARRAYAGG", ["INT"], True, "VARCHAR(2000) NOT NULL"),
        ("MAX", ["TIMESTAMP(3) NOT NULL"], True, "TIMESTAMP(3) NOT NULL"),
    ],
)
def test_type(name, types, grouped, result):
    assert type_text(find_aggregate(name).resolve([parse_type(text) for text in types], grouped)) == result


def test_wrong_operands_are_an_error():
    with pytest.raises(FunctionError, match=r"'SUM\(<VARCHAR\(2147483647\)>\)'"):
        find_aggregate("sum").resolve([parse_type("STRING")])
    with pytest.raises(FunctionError, match="expecting 1 arguments, found 2"):
        find_aggregate("AVG").resolve([parse_type("INT")] * 2)


def test_single_value_refuses_a_second_row():
    with pytest.raises(JobExecutionError, match="more than one"):
        run("SINGLE_VALUE", ["INT"], rows(1, 2))


def test_sum_of_floats_has_32_bits():
    assert run("SUM", ["FLOAT"], rows(16777216.0, 1.0)) == 16777216.0


@pytest.mark.parametrize("percentage", [1.5, -0.1])
def test_a_percentage_is_between_0_and_1(percentage):
    with pytest.raises(FunctionError, match=r"between \[0\.0, 1\.0\], but was"):
        run("PERCENTILE", ["INT", "DOUBLE NOT NULL"], [(1, percentage), (2, percentage)])


@pytest.mark.parametrize("text", ["BIGINT", "DOUBLE", "STRING"])
@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_extremes_of_many_values_that_are_retracted(name, text):
    chance = random.Random(name + text)
    values = {"BIGINT": range(300), "DOUBLE": [*map(float, range(300)), NAN], "STRING": [f"v{n}" for n in range(300)]}
    kind = parse_type(text)
    accumulator = find_aggregate(name).create([kind], kind, True)
    state, present = accumulator.new(), []
    for step in range(3_000):
        if present and chance.random() < 0.5:
            value = (min if name == "MIN" else max)(present) if chance.random() < 0.6 else chance.choice(present)
            present.remove(value)
            accumulator.retract(state, value)
        else:
            value = chance.choice(values[text])
            present.append(value)
            accumulator.add(state, value)
        state = pickle.loads(pickle.dumps(state)) if step % 500 == 499 else state
        assert accumulator.value(state) == ((min if name == "MIN" else max)(present) if present else None)


def test_the_work_of_retracting_an_extreme_does_not_grow_with_the_values():
    def work(count):
        accumulator = find_aggregate("MIN").create([parse_type("BIGINT")], parse_type("BIGINT"), True)
        state = accumulator.new()
        for number in range(count):
            accumulator.add(state, number)
        accumulator.value(state)

        def retract():
            for number in range(100):
                accumulator.retract(state, number)
                accumulator.add(state, count + number)
                assert accumulator.value(state) == number + 1

        retract()
        return calls_made(lambda: [accumulator.retract(state, 100), accumulator.value(state)])

    assert work(100_000) < 2 * work(1_000) + 50
