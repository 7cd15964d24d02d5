import pytest

from firesteel.columns.column_types import NullType
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.json_path_reader import json_path
from firesteel.columns.functions.json_values import parse_json
from firesteel.columns.rex import Call, Literal
from firesteel.columns.type_text import parse_type, type_text
from tests.columns.rexes import call, column, lit, run

S = "STRING"
RETURN_INT = ("RETURNING", parse_type("INT"))
JSON = '{"a": 1, "b": {"d": [1, 2, 3], "c": "x"}, "n": null, "t": true, "f": 1.50}'
JSONS = (S, [JSON, '{"b": 5}', None, "not json"])


def option(name, value, *default):
    operands = (lit(name, S), Literal(value, NullType()), *[lit(x, S) for x in default])
    return Call("JSON OPTION", operands, operands[-1].type if default else NullType())


def json_call(name, path, *clauses):
    return call(name, column(0, S), lit(path, "STRING NOT NULL"), *[option(*clause) for clause in clauses])


@pytest.mark.parametrize(
    ("path", "clauses", "result"),
    [
        ("$.a", [], ["1", None, None, None]),
        ("$.b.c", [], ["x", None, None, None]),
        ("$.b", [], [None, "5", None, None]),
        ("lax $.a", [RETURN_INT], [1, None, None, None]),
        ("$.zz", [("EMPTY", "DEFAULT", "dflt")], [None, None, None, None]),
        ("lax $.zz", [("EMPTY", "DEFAULT", "dflt")], ["dflt", "dflt", None, None]),
        ("strict $.zz", [("ERROR", "DEFAULT", "err")], ["err", "err", None, "err"]),
        ("$.b.d[1]", [], ["2", None, None, None]),
        ("$['b']['d'][-1]", [], ["3", None, None, None]),
        ("$.t", [("RETURNING", parse_type("BOOLEAN"))], [True, None, None, None]),
        ("$.f", [], ["1.50", None, None, None]),
        ("$.f", [("RETURNING", parse_type("DOUBLE"))], [1.5, None, None, None]),
    ],
)
def test_json_value(path, clauses, result):
    assert run(json_call("JSON_VALUE", path, *clauses), JSONS) == result


@pytest.mark.parametrize(
    ("path", "clauses", "result"),
    [
        ("$.b", [], '{"c":"x","d":[1,2,3]}'),
        ("$.b.d", [], "[1,2,3]"),
        ("$.a", [], None),
        ("$.a", [("WRAPPER", "WITH UNCONDITIONAL")], "[1]"),
        ("$.b.d[*]", [("WRAPPER", "WITH CONDITIONAL")], "[1,2,3]"),
        ("$.b.d[0,2]", [], "[1,3]"),
        ("$.b.d[1:]", [], "[2,3]"),
        ("$..c", [], '["x"]'),
        ("$.a.d[*]", [("WRAPPER", "WITH CONDITIONAL")], None),
        ("$.zz", [("WRAPPER", "WITHOUT"), ("EMPTY", "EMPTY ARRAY")], None),
        ("lax $.zz", [("WRAPPER", "WITHOUT"), ("EMPTY", "EMPTY ARRAY")], "[]"),
        ("$.zz", [("ERROR", "EMPTY OBJECT")], "{}"),
        ("$.b.d", [("RETURNING", parse_type("ARRAY<STRING>"))], ["1", "2", "3"]),
    ],
)
def test_json_query(path, clauses, result):
    assert run(json_call("JSON_QUERY", path, *clauses), (S, [JSON])) == [result]


def test_json_exists():
    assert run(json_call("JSON_EXISTS", "$.b.c"), JSONS) == [True, False, None, False]
    assert run(json_call("JSON_EXISTS", "$.n"), (S, [JSON])) == [False]
    assert run(json_call("JSON_EXISTS", "strict $.zz", ("ERROR", "TRUE")), (S, [JSON])) == [True]
    with pytest.raises(FunctionError, match="nowhere"):
        run(json_call("JSON_EXISTS", "strict $.zz", ("ERROR", "ERROR")), (S, [JSON]))


def test_is_json():
    texts = (S, ["{}", "[]", "1", "not json", None])
    assert run(call("IS JSON", column(0, S)), texts) == [True, True, True, False, False]
    assert run(call("IS NOT JSON", column(0, S)), texts) == [False, False, False, True, True]
    assert run(call("IS JSON OBJECT", column(0, S)), texts) == [True, False, False, False, False]
    assert run(call("IS JSON ARRAY", column(0, S)), texts) == [False, True, False, False, False]
    assert run(call("IS JSON SCALAR", column(0, S)), texts) == [False, False, True, False, False]


def test_constructors():
    key, null = lit("k", "CHAR(1) NOT NULL"), lit(None, "INT")
    rex = call("JSON_OBJECT", key, lit(1, "INT"), lit("a", "CHAR(1) NOT NULL"), null)
    assert run(rex) == ['{"a":null,"k":1}']
    assert type_text(rex.type) == "STRING NOT NULL"
    assert run(call("JSON_OBJECT", key, null, option("ON NULL", "ABSENT"))) == ["{}"]
    assert run(call("JSON_ARRAY", lit(1, "INT"), lit("x", S), lit(True, "BOOLEAN"), null)) == ['[1,"x",true]']
    assert run(call("JSON_ARRAY", call("JSON_OBJECT", key, lit(1, "INT")), null, option("ON NULL", "NULL"))) == [
        '[{"k":1},null]'
    ]
    assert run(call("JSON_ARRAY", call("JSON", lit('{"b": 1}', S)))) == ['[{"b":1}]']
    assert run(call("JSON_ARRAY", call("JSON_QUOTE", lit("x", S)))) == ['["\\"x\\""]']
    assert run(call("JSON_STRING", lit('q"', S))) == ['"q\\""']
    assert run(call("JSON_STRING", call("ROW", lit(1, "INT"), lit("x", S)))) == ['{"EXPR$0":1,"EXPR$1":"x"}']
    assert run(call("JSON_UNQUOTE", lit('"a\\"b"', S))) == ['a"b']


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("$.a[?(@.b all [1])]", "does not support 'all' in the JSON path .* NONEOF are allowed"),
        ("$.a[?(@.b ~ 1)]", "does not support '~'"),
        ("$.a[?(@.b > )]", r"does not support the JSON path .* from '\)\]' on"),
        ("$.a[?(@.b > 1]", "does not support the JSON path"),
        ("$.a[?(1)]", "does not support the JSON path"),
        ("$.a[?]", "does not support the JSON path"),
        ("$.a.concat('x')", r"does not support concat\(...\) in the JSON path .*; without arguments, length, "),
        ("$.a.first().b", "does not support what follows a function"),
        ("$.a[?(@.b in [1 2])]", r"does not support the JSON path .* from '2\]\)\]' on"),
        ("$..a.length()", "does not support functions of `..`"),
        ("$.a.length(1)", r"does not support length\(...\)"),
        ("$.", "does not support the JSON path"),
        ("$.a b", "does not support the JSON path"),
    ],
)
def test_unsupported_paths_are_errors(path, message):
    with pytest.raises(FunctionError, match=message):
        json_path(path)


def test_paths_may_leave_the_document_out():
    assert json_path("a.b").find({"a": {"b": 1}}) == 1
    assert json_path("$").find(parse_json("1")) == 1


@pytest.mark.parametrize("text", ['{"a": "x"}', '{"a": 99999999999}', '{"a": "99999999999"}'])
def test_a_value_of_another_type_is_an_error_of_json_value(text):
    operands = lit(text, S), lit("$.a", S), option("RETURNING", parse_type("INT"))
    assert run(call("JSON_VALUE", *operands)) == [None]
    with pytest.raises(FunctionError, match="JSON_VALUE"):
        run(call("JSON_VALUE", *operands, option("ERROR", "ERROR")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.", False),
        ("1e", False),
        ("1x", False),
        ("01", False),
        ("1,2", False),
        ("1]", False),
        ("1\t2", True),
        ("truex", False),
        ("true1", False),
        ("null$", False),
        ("true,1", True),
        ("[1]x", True),
        ("{}{", True),
        ('"a"x', True),
    ],
)
def test_what_may_follow_json(text, expected):
    assert run(call("IS JSON", lit(text, S))) == [expected]


def test_decimals_have_no_negative_zero():
    assert run(json_call("JSON_VALUE", "$[1]"), (S, ["[-0, -0.00]"])) == ["0.00"]
    assert run(json_call("JSON_QUERY", "$"), (S, ["[-0, -0.0, -0e5]"])) == ["[0,0.0,0E+5]"]


def test_halves_of_surrogate_pairs_are_question_marks():
    half, pair = r'{"a":["\ud800x"]}', r'{"a":["\ud83d\ude00"]}'
    assert run(json_call("JSON_QUERY", "$.a"), (S, [half, pair])) == ['["?x"]', '["\U0001f600"]']
    assert run(json_call("JSON_VALUE", "$.a[0]"), (S, [half, pair])) == ["?x", "\U0001f600"]
    assert run(call("JSON_UNQUOTE", column(0, S)), (S, [r'"\ud800"', r'"\ud83d\ude00"'])) == ["?", "\U0001f600"]
    values = call("JSON_QUERY", column(0, S), lit("$.a", S), option("RETURNING", parse_type("ARRAY<STRING>")))
    assert run(values, (S, [half, pair])) == [["?x"], ["\U0001f600"]]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('a/b"c\\', r'"a\/b\"c\\"'),
        ("\b\f\n\r\t", r'"\b\f\n\r\t"'),
        ("\x01\x7f", '"\x01\x7f"'),
        ("\x80é€", r'"\u0080\u00e9\u20ac"'),
    ],
)
def test_quotes(text, quoted):
    assert run(call("JSON_QUOTE", lit(text, S))) == [quoted]
    assert run(call("JSON_UNQUOTE", lit(quoted, S))) == [text]


@pytest.mark.parametrize(
    ("text", "unquoted"),
    [
        ('"a"b"', 'a"b'),
        ('"""', '"'),
        ('"a\nb"', "a\nb"),
        (r'"a\"', r'"a\"'),
        (r'"\q"', r'"\q"'),
        (r'"\u12"', r'"\u12"'),
        ('"', '"'),
    ],
)
def test_what_is_between_quotes_need_not_be_json(text, unquoted):
    assert run(call("JSON_UNQUOTE", lit(text, S))) == [unquoted]


def test_huge_numbers_and_depths_are_errors():
    huge = '{"a":1e999999999,"b":[]}'
    assert run(json_call("JSON_VALUE", "$.a", RETURN_INT), (S, [huge])) == [None]
    assert run(json_call("JSON_QUERY", "$[?(@.b SIZE 1e999999999)]"), (S, [huge])) == ["[]"]
    deep = '{"a":' + "[" * 800 + "]" * 800 + "}"
    assert run(json_call("JSON_QUERY", "$"), (S, [deep])) == [None]
    assert run(json_call("JSON_QUERY", "$", ("ERROR", "EMPTY ARRAY")), (S, [deep])) == ["[]"]
    with pytest.raises(FunctionError, match="Invalid JSON string in JSON"):
        run(call("JSON", lit(deep, S)))
