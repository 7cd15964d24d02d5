from __future__ import annotations

from decimal import Decimal

import pytest

from firesteel.table.errors import SqlParserError
from firesteel.table.planner.parse.lexer import tokenize
from firesteel.table.planner.parse.parser import parse, parse_all, parse_expression
from firesteel.table.syntax import queries as q
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.unresolved import Apply, Lit, OverCall, Ref, Subquery


def test_tokens_keep_what_strings_and_quoted_names_stand_for():
    texts = [
        token.text for token in tokenize("SELECT `a``b`, 'it''s', U&'\\00e9', 1.5e3 -- comment\n/* more */ FROM t")
    ]
    assert texts == ["SELECT", "a`b", ",", "it's", ",", "é", ",", "1.5e3", "FROM", "t", "<EOF>"]


@pytest.mark.parametrize(
    ("escaped", "text"),
    [(r"\00e9\\0041", r"é\0041"), (r"\d834\dd1e", chr(0x1D11E)), (r"a\d834", "a?"), ("it''s", "it's")],
)
def test_unicode_escapes(escaped, text):
    assert tokenize(f"U&'{escaped}'")[0].text == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a + b * c", ["+", "*"]),
        ("a OR b AND NOT c", ["OR", "AND", "NOT"]),
        ("a = 1 AND b <> 2 OR c IS NOT NULL", ["OR", "AND", "=", "<>", "IS NOT NULL"]),
        ("x NOT BETWEEN 1 AND 2 AND y", ["AND", "NOT", "BETWEEN"]),
        ("a || b LIKE 'x%' ESCAPE '!'", ["LIKE", "||"]),
        ("a = b IN (1, 2)", ["=", "IN"]),
        ("a <> b NOT LIKE c = d IS NULL", ["IS NULL", "=", "<>", "NOT", "LIKE"]),
        ("a = b BETWEEN 1 AND 2 AND c", ["AND", "=", "BETWEEN"]),
        ("a IN (1, 2) = b", ["=", "IN"]),
        ("-a[1].b", ["NEGATE", "DOT", "ITEM"]),
        ("x IS DISTINCT FROM y", ["IS DISTINCT FROM"]),
    ],
)
def test_operators_bind_as_in_calcite(text, names):
    def walk(expression):
        if isinstance(expression, Apply):
            yield expression.function
            for operand in expression.operands:
                yield from walk(operand)

    assert list(walk(parse_expression(text))) == names


def test_literals_have_the_types_of_flink():
    texts = ["1", "1.50", "1e0", "'a'", "TRUE", "NULL", "X'01ff'"]
    values = [parse_expression(text).value for text in texts]
    assert values == [1, Decimal("1.50"), 1.0, "a", True, None, b"\x01\xff"]
    assert [
        repr(parse_expression(text).type) for text in ("DATE '2024-1-2'", "TIMESTAMP '2024-01-02 03:04:05.120'")
    ] == [
        "DateType(false)",
        "TimestampType(3, false)",
    ]
    assert parse_expression("INTERVAL '1 02:03:04.5' DAY TO SECOND").value.total_seconds() == 93784.5
    assert parse_expression("INTERVAL '1-2' YEAR TO MONTH").value == 14


def test_special_calls_become_plain_ones():
    assert parse_expression("EXTRACT(YEAR FROM ts)").operands == (Lit("YEAR"), Ref(("ts",), parse_position(19)))
    assert parse_expression("TRIM(LEADING 'x' FROM s)").operands[:2] == (Lit("LEADING"), Lit("x"))
    assert parse_expression("CASE a WHEN 1 THEN 'x' END").operands[-1] == Lit(None)
    assert isinstance(parse_expression("COUNT(*) OVER (PARTITION BY a ORDER BY b DESC)"), OverCall)
    assert isinstance(parse_expression("EXISTS (SELECT 1)"), Subquery)
    assert parse_expression("COLLECT(DISTINCT x) WITHIN GROUP (ORDER BY y)").distinct


def parse_position(column):
    from firesteel.table.syntax.unresolved import Position

    return Position(1, column)


def test_window_table_functions_take_positional_and_named_arguments():
    plain = parse("SELECT * FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))")
    named = parse(
        "SELECT * FROM TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '1' MINUTE, "
        "SIZE => INTERVAL '5' MINUTES))"
    )
    first, second = plain.query.source, named.query.source
    assert isinstance(first, q.WindowTable)
    assert (first.function, first.time_column, first.arguments) == (
        second.function,
        second.time_column,
        second.arguments,
    )
    session = parse("SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY a, DESCRIPTOR(ts), INTERVAL '1' MINUTE))")
    assert session.query.source.partition_by == ("a",)


def test_joins_temporal_tables_and_table_functions():
    statement = parse(
        "SELECT * FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k LEFT JOIN LATERAL TABLE(f(a.x)) AS t(y) "
        "ON TRUE CROSS JOIN UNNEST(a.xs) WITH ORDINALITY AS u(v, n)"
    )
    outer = statement.query.source
    assert (outer.kind, outer.right.columns, outer.right.query.with_ordinality) == ("CROSS", ("v", "n"), True)
    assert outer.left.kind == "LEFT"
    assert outer.left.left.right.query.as_of == Ref(("a", "ts"), parse_position(46))


def test_create_table_has_all_kinds_of_columns():
    table = parse(
        """CREATE TEMPORARY TABLE IF NOT EXISTS cat.db.t (
             id INT NOT NULL COMMENT 'key', r ROW<a INT, b ARRAY<STRING>>, total AS id * 2, ts TIMESTAMP(3),
             m BIGINT METADATA FROM 'size' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
             PRIMARY KEY (id) NOT ENFORCED
           ) COMMENT 'c' PARTITIONED BY (id) WITH ('connector' = 'print', 'a' = 'it''s')"""
    )
    assert isinstance(table, s.CreateTable)
    assert table.path == ("cat", "db", "t")
    assert [column.name for column in table.columns] == ["id", "r", "total", "ts", "m"]
    assert (table.columns[2].text, table.columns[4].metadata_key, table.columns[4].is_virtual) == (
        "`id` * 2",
        "size",
        True,
    )
    assert (table.watermarks[0].column, table.watermarks[0].text) == ("ts", "`ts` - INTERVAL '5' SECOND")
    assert (table.primary_key, table.partitioned_by, table.is_temporary, table.if_not_exists) == (
        ("id",),
        ("id",),
        True,
        True,
    )
    assert table.options == (("connector", "print"), ("a", "it's"))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DROP TEMPORARY VIEW IF EXISTS v", s.Drop("VIEW", ("v",), is_temporary=True, if_exists=True)),
        ("USE CATALOG c", s.Use("CATALOG", ("c",))),
        ("SHOW TABLES FROM db NOT LIKE 'a%'", s.Show("TABLES", ("db",), "a%", negated=True)),
        ("DESC t", s.Describe(("t",))),
        ("SET 'a.b' = 'c'", s.SetOption("a.b", "c")),
        ("RESET", s.SetOption(reset=True)),
        ("ALTER TABLE t RENAME a TO b", s.AlterTable(("t",), "RENAME COLUMN", ("a", "b"))),
        ("LOAD MODULE m WITH ('x' = '1')", s.LoadModule("m", (("x", "1"),))),
    ],
)
def test_statements(sql, expected):
    assert parse(sql) == expected


def test_statement_sets_and_scripts():
    block = parse("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT OVERWRITE b (x) VALUES (2); END")
    assert [(insert.path, insert.columns, insert.overwrite) for insert in block.inserts] == [
        (("a",), (), False),
        (("b",), ("x",), True),
    ]
    assert len(parse_all("SELECT 1; ; SELECT 2;")) == 2


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT i FORM v WHERE", 'Encountered "v" at line 1, column 15 ("FORM" before it: did you mean "FROM"?).'),
        ("SELECT\n  FROM t", 'Encountered "FROM" at line 2, column 3.'),
        ("SELECT 'abc", "a string without end"),
        ("CREATE TABLE t (a NOSUCH)", "at line 1, column"),
        ("FOO BAR", 'Encountered "FOO" at line 1, column 1.'),
        ("SELECT INTERVAL 'x' SECOND", "Illegal interval literal format 'x'"),
        ("SELECT INTERVAL '²' YEAR", "Illegal interval literal format '²'"),
        ("", 'Encountered "<EOF>"'),
    ],
)
def test_errors_name_line_and_column(sql, message):
    with pytest.raises(SqlParserError) as caught:
        parse(sql)
    assert message in str(caught.value)


def test_jobs_are_stopped_with_and_without_savepoint():
    assert parse("STOP JOB 'ab'") == s.StopJob("ab")
    assert parse("STOP JOB 'ab' WITH SAVEPOINT;") == s.StopJob("ab", with_savepoint=True)
    assert parse("stop job 'ab' with savepoint with drain") == s.StopJob("ab", with_savepoint=True, with_drain=True)
    for text in ("STOP JOB ab", "STOP JOB 'ab' WITH DRAIN", "STOP 'ab'"):
        with pytest.raises(SqlParserError):
            parse(text)
