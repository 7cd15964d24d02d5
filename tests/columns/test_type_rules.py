import pytest

from firesteel.columns.cast_rules import can_cast, can_cast_implicitly
from firesteel.columns.type_rules import arithmetic_type, avg_type, common_type, round_type, sum_type
from firesteel.columns.type_text import parse_type, type_text


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ("INT; BIGINT NOT NULL", "BIGINT"),
        ("INT NOT NULL; DECIMAL(3, 2) NOT NULL", "DECIMAL(12, 2) NOT NULL"),
        ("DECIMAL(38, 0); DECIMAL(38, 10)", "DECIMAL(38, 0)"),
        ("FLOAT; INT", "FLOAT"),
        ("FLOAT; DOUBLE", "FLOAT"),
        ("DOUBLE; FLOAT", "DOUBLE"),
        ("FLOAT; DECIMAL(3, 1)", "DOUBLE"),
        ("CHAR(3) NOT NULL; CHAR(9) NOT NULL", "VARCHAR(9) NOT NULL"),
        ("CHAR(3); CHAR(3) NOT NULL", "CHAR(3)"),
        ("CHAR(3); STRING", "STRING"),
        ("INT NOT NULL; NULL", "INT"),
        ("TIMESTAMP(3); TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(6)"),
        ("ARRAY<INT NOT NULL>; ARRAY<BIGINT>", "ARRAY<BIGINT>"),
        ("ROW<`a` INT, `b` CHAR(1)>; ROW<`c` BIGINT, `d` CHAR(2)>", "ROW<`a` BIGINT, `b` VARCHAR(2)>"),
        ("MAP<STRING, INT>; MAP<STRING, BIGINT>", "MAP<STRING, BIGINT>"),
        ("INT; STRING", None),
        ("INT; DATE", None),
        ("ARRAY<INT>; ARRAY<DATE>", None),
    ],
)
def test_common_type(types, common):
    result = common_type([parse_type(text) for text in types.split("; ")])
    assert (result and type_text(result)) == common


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("TINYINT + SMALLINT", "SMALLINT"),
        ("BIGINT % INT", "INT"),
        ("DECIMAL(10, 2) + DECIMAL(5, 3)", "DECIMAL(12, 3)"),
        ("DECIMAL(10, 2) * DECIMAL(5, 3)", "DECIMAL(16, 5)"),
        ("DECIMAL(10, 2) / DECIMAL(5, 3)", "DECIMAL(19, 8)"),
        ("DECIMAL(10, 2) % DECIMAL(5, 3)", "DECIMAL(5, 3)"),
        ("DECIMAL(10, 2) / INT", "DECIMAL(21, 13)"),
        ("INT / DECIMAL(10, 2)", "DECIMAL(23, 11)"),
        ("DECIMAL(10, 2) * BIGINT", "DECIMAL(30, 2)"),
        ("DECIMAL(38, 10) * DECIMAL(38, 10)", "DECIMAL(38, 6)"),
        ("DECIMAL(10, 2) + DOUBLE", "DOUBLE"),
        ("DATE + INTERVAL DAY", "DATE"),
        ("INTERVAL SECOND(3) + TIMESTAMP(3)", "TIMESTAMP(3)"),
        ("INTERVAL SECOND(3) * INT", "INTERVAL SECOND(3)"),
        ("INT + DATE", None),
        ("DATE - DATE", None),
        ("INTERVAL MONTH + INTERVAL SECOND(3)", None),
    ],
)
def test_arithmetic_type(expression, result):
    for sign in "+*/%-":
        if f" {sign} " in expression:
            left, right = expression.split(f" {sign} ")
            found = arithmetic_type(sign, parse_type(left), parse_type(right))
            assert (found and type_text(found)) == result


def test_aggregates_widen_decimals_only():
    assert type_text(sum_type(parse_type("DECIMAL(10, 2)"))) == "DECIMAL(38, 2)"
    assert type_text(avg_type(parse_type("DECIMAL(10, 2)"))) == "DECIMAL(38, 6)"
    assert type_text(sum_type(parse_type("INT NOT NULL"))) == "INT NOT NULL"


def test_round_keeps_one_more_digit_before_the_point():
    assert type_text(round_type(parse_type("DECIMAL(2, 1)"), 0)) == "DECIMAL(2, 0)"
    assert type_text(round_type(parse_type("DECIMAL(7, 4)"), 2)) == "DECIMAL(6, 2)"


@pytest.mark.parametrize(
    ("source", "target", "explicit", "implicit"),
    [
        ("INT", "BIGINT", True, True),
        ("BIGINT", "INT", True, False),
        ("STRING", "INT", True, False),
        ("INT", "STRING", True, False),
        ("CHAR(3)", "STRING", True, True),
        ("TIMESTAMP(3)", "BIGINT", False, False),
        ("INT", "TIMESTAMP(3)", False, False),
        ("DOUBLE", "BOOLEAN", True, False),
        ("ROW<`a` INT>", "ROW<`b` BIGINT>", True, True),
        ("ROW<`a` INT>", "ROW<`b` BIGINT, `c` INT>", False, False),
        ("ARRAY<STRING>", "ARRAY<INT>", True, False),
        ("NULL", "INT", True, True),
        ("INT", "INT NOT NULL", True, False),
        ("ARRAY<INT>", "STRING", True, False),
        ("DATE", "INT", False, False),
    ],
)
def test_casts(source, target, explicit, implicit):
    a, b = parse_type(source), parse_type(target)
    assert (can_cast(a, b), can_cast_implicitly(a, b)) == (explicit, implicit)
