"""Tables of made-up rows."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from firesteel.connectors.faker.columns import chance_of
from firesteel.connectors.faker.expressions import EXPRESSIONS, as_text, expression_of
from firesteel.connectors.faker.names import BY_METHOD
from firesteel.table.errors import ValidationException
from tests.table.local_runs import create, read

pytest.importorskip("faker")

ARGUMENTS: dict[str, tuple[str, str]] = {
    "bool.bool": ("", "true|false"),
    "bothify": ("'a?#'", "a[a-z][0-9]"),
    "date.birthday": ("'20','20'", r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d UTC \d{4}"),
    "date.future": ("'1','DAYS'", r"\w{3} \w{3} .*"),
    "date.past": ("'15','5','SECONDS'", r"\w{3} \w{3} .*"),
    "letterify": ("'x?#'", "x[a-z]#"),
    "lorem.characters": ("'7'", "[a-z]{7}"),
    "lorem.words": ("'2'", r"\w+ \w+"),
    "number.digits": ("'5'", "[0-9]{5}"),
    "number.numberbetween": ("'3','5'", "3|4"),
    "number.randomdigit": ("", "[0-9]"),
    "number.randomdigitnotzero": ("", "[1-9]"),
    "number.randomdouble": ("'2','1','3'", r"[123]\.\d\d"),
    "number.randomnumber": ("", "[0-9]{1,9}"),
    "numerify": ("'##-?'", r"\d\d-\?"),
    "options.option": ("'a','it''s'", "a|it's"),
    "regexify": ("'(RECEIVED|SHIPPED){1}-[0-9]{2}'", r"(RECEIVED|SHIPPED)-\d\d"),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_each_expression_gives_what_it_says(name: str) -> None:
    arguments, pattern = ARGUMENTS[name]
    found = expression_of(f"#{{{name} {arguments}}}", "c")
    values = {as_text(found.value(chance_of(seed))) for seed in range(20)}
    assert all(re.fullmatch(pattern, value) for value in values), values
    assert len(values) > 1 or name.startswith("date.")
    if not name.startswith("date."):
        assert found.value(chance_of(7)) == found.value(chance_of(7))


@pytest.mark.parametrize("name", BY_METHOD)
def test_each_name_is_a_method_of_the_package(name: str) -> None:
    found = expression_of(f"<#{{{name}}}>", "c").value(chance_of(1))
    assert isinstance(found, str)
    assert len(found) > 2


def table(columns: str, **expressions: str) -> str:
    """The statement that creates the table `t`; keys of expressions are columns or options below `fields`."""
    options = {
        f"fields.{key}" if "." in key else f"fields.{key}.expression": text.replace("'", "''")
        for key, text in expressions.items()
    }
    return create("t", columns, {"connector": "faker", "number-of-rows": "50"} | options)


def test_rows_have_the_types_of_columns() -> None:
    columns = (
        "s STRING, n INT, p DECIMAL(5, 2), b BOOLEAN, `at` TIMESTAMP(3), it TIMESTAMP_LTZ(3), d DATE, g ARRAY<INT>, "
        "m MAP<STRING, INT>, r ROW<a INT, b STRING>, u MULTISET<STRING>"
    )
    number = "#{number.numberBetween '1','9'}"
    expressions = {
        "s": "#{Name.first_name} is #{number.numberBetween '1','9'}", "n": number, "p": f"{number}.5",
        "b": "#{bool.bool}", "at": "#{date.past '15','SECONDS'}", "it": "#{date.past '15','SECONDS'}",
        "d": "#{date.birthday}", "g": number, "g.length": "3", "m.key.expression": "#{letterify '?'}",
        "m.value.expression": number, "m.length": "2", "r.a.expression": number, "r.b.expression": "x",
        "u": "same", "u.length": "4",
    }  # fmt: skip
    rows = read("SELECT * FROM t", table(columns, **expressions))
    assert len(rows) == 50
    row: Any = rows[0]
    assert re.fullmatch(r"\w+ is [1-8]", row[0])
    assert len({row[1] for row in rows}) > 3
    assert str(row[2])[1:] == ".50"
    ago = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - row[4]
    assert -1 < ago.total_seconds() < 600
    assert isinstance(row[6], datetime.date)
    assert len(row[7]) == 3
    assert (tuple(row[9])[1], row[10]) == ("x", {"same": 4})


def test_a_share_of_values_is_null_and_queries_read_some_columns() -> None:
    statement = table("a INT, b STRING", a="1", b="x", **{"b.null-rate": "0.5"})
    nulls = read("SELECT b FROM t", statement).count((None,))
    assert 5 < nulls < 45


def test_each_key_is_looked_up_with_a_made_up_row() -> None:
    statement = table("k INT, name STRING, n INT", k="#{number.numberBetween '0','9'}", name="#{name.fullName}", n="5")
    view = "CREATE VIEW o AS SELECT *, PROCTIME() AS p FROM (VALUES (100), (200)) AS x (k)"
    rows = read("SELECT t.k, name, n FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k", statement, view)
    assert sorted((row[0], row[2]) for row in rows) == [(100, 5), (200, 5)]
    assert all(" " in row[1] for row in rows)


BAD: list[tuple[str, dict[str, str], str]] = [
    (
        "a STRING",
        {"a": "#{superhero.name}"},
        "#{superhero.name} is not supported. Supported are: address.buildingnumber",
    ),
    ("a STRING", {"a": "#{regexify}"}, "#{regexify} takes 1 arguments, found 0"),
    ("a STRING", {"a": "#{name.fullName 'x'}"}, "#{name.fullName} takes 0 arguments, found 1"),
    ("a STRING", {"a": "#{open"}, "cannot read '#{open'"),
    ("a BYTES", {"a": "x"}, "Column 'a' is BYTES, which the connector 'faker' cannot make up"),
    ("a STRING", {"a": "x", "a.length": "2"}, "Collection length may not be set for a with type STRING"),
    ("a STRING", {"a": "x", "a.null-rate": "2"}, "expected a number from 0 to 1"),
    ("a STRING, b INT", {"a": "x"}, "Missing required options are:\n\nexpression"),
    ("a STRING", {"a": "x", "b": "y"}, "Unsupported options:\n\nfields.b.expression"),
]


@pytest.mark.parametrize(("columns", "expressions", "message"), BAD)
def test_bad_tables_are_refused(columns: str, expressions: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        read("SELECT * FROM t", table(columns, **expressions))
