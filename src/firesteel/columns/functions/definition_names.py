"""Names of built-in functions in the Table API that SQL writes otherwise. Flink: `BuiltInFunctionDefinitions`.

`call("plus", a, b)` is `a + b`. In SQL they are no functions, but they go before functions of catalogs all the same.
"""

from __future__ import annotations

from typing import Final

_OPERATORS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "divide": "/",
    "mod": "%",
    "minusPrefix": "NEGATE",
    "equals": "=",
    "notEquals": "<>",
    "greaterThan": ">",
    "greaterThanOrEqual": ">=",
    "lessThan": "<",
    "lessThanOrEqual": "<=",
    "isNull": "IS NULL",
    "isNotNull": "IS NOT NULL",
    "isTrue": "IS TRUE",
    "isNotTrue": "IS NOT TRUE",
    "isFalse": "IS FALSE",
    "isNotFalse": "IS NOT FALSE",
    "notBetween": "NOT BETWEEN",
    "similar": "SIMILAR TO",
    "ifThenElse": "CASE",
    "at": "ITEM",
}
_FUNCTIONS = {
    "charLength": "CHAR_LENGTH",
    "fromBase64": "FROM_BASE64",
    "toBase64": "TO_BASE64",
    "regexpReplace": "REGEXP_REPLACE",
    "regexpExtract": "REGEXP_EXTRACT",
    "splitIndex": "SPLIT_INDEX",
    "strToMap": "STR_TO_MAP",
    "parseUrl": "PARSE_URL",
    "convertTz": "CONVERT_TZ",
    "dateFormat": "DATE_FORMAT",
    "fromUnixtime": "FROM_UNIXTIME",
    "localTime": "LOCALTIME",
    "localTimestamp": "LOCALTIMESTAMP",
    "timestampDiff": "TIMESTAMPDIFF",
    "toDate": "TO_DATE",
    "toTimestamp": "TO_TIMESTAMP",
    "unixTimestamp": "UNIX_TIMESTAMP",
    "temporalOverlaps": "OVERLAPS",
    "currentDate": "CURRENT_DATE",
    "currentTime": "CURRENT_TIME",
    "currentTimestamp": "CURRENT_TIMESTAMP",
    "currentRowTimestamp": "CURRENT_ROW_TIMESTAMP",
    "currentDatabase": "CURRENT_DATABASE",
    "randInteger": "RAND_INTEGER",
    "stddevPop": "STDDEV_POP",
    "stddevSamp": "STDDEV_SAMP",
    "varPop": "VAR_POP",
    "varSamp": "VAR_SAMP",
}
_CAPITALS: Final = """
    ARRAY_AGG ARRAY_APPEND ARRAY_CONCAT ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_JOIN
    ARRAY_MAX ARRAY_MIN ARRAY_POSITION ARRAY_PREPEND ARRAY_REMOVE ARRAY_REVERSE ARRAY_SLICE ARRAY_SORT
    ARRAY_UNION BTRIM COALESCE CURRENT_WATERMARK ELT ENDSWITH GREATEST IFNULL INET_ATON INET_NTOA JSON
    JSON_ARRAY JSON_ARRAYAGG_ABSENT_ON_NULL JSON_ARRAYAGG_NULL_ON_NULL JSON_EXISTS JSON_OBJECT
    JSON_OBJECTAGG_ABSENT_ON_NULL JSON_OBJECTAGG_NULL_ON_NULL JSON_QUERY JSON_QUOTE JSON_STRING JSON_UNQUOTE
    JSON_VALUE LEAST LIKE MAP_ENTRIES MAP_FROM_ARRAYS MAP_KEYS MAP_UNION MAP_VALUES PARSE_JSON PERCENTILE
    PRINTF REGEXP_COUNT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_SUBSTR SOURCE_WATERMARK SPLIT STARTSWITH
    TO_TIMESTAMP_LTZ TRY_CAST TRY_PARSE_JSON TYPEOF UNHEX URL_DECODE URL_ENCODE"""
"""The functions of later versions, whose names are the same in both."""

_IN_CAPITALS = frozenset(_CAPITALS.split())
_BY_SQL = {sql: name for name, sql in {**_OPERATORS, **_FUNCTIONS}.items()}
_BY_NAME = {name.lower(): sql for name, sql in {**_OPERATORS, **_FUNCTIONS}.items()}


def definition_name(sql: str) -> str:
    """Return the name in the Table API of a built-in function."""
    return _BY_SQL.get(sql, sql.lower())


def is_written_in_capitals(sql: str) -> bool:
    """Return whether a function has the same name in the Table API as in SQL, or is one of bitmaps, which all have."""
    return sql in _IN_CAPITALS or sql.startswith("BITMAP_")


def sql_name(name: str) -> str | None:
    """Return the name in SQL of a built-in function of the Table API; None: it is the same, or there is none."""
    return _BY_NAME.get(name.lower())
