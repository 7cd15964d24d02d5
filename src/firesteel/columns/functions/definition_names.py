"""Names of built-in functions in the Table API that SQL writes otherwise. Flink: `BuiltInFunctionDefinitions`.

`call("plus", a, b)` is `a + b`. In SQL they are no functions, but they go before functions of catalogs all the same.
"""

from __future__ import annotations

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
    "concatWs": "CONCAT_WS",
    "splitIndex": "SPLIT_INDEX",
    "strToMap": "STR_TO_MAP",
    "parseUrl": "PARSE_URL",
    "dateFormat": "DATE_FORMAT",
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
_BY_SQL = {sql: name for name, sql in {**_OPERATORS, **_FUNCTIONS}.items()}
_BY_NAME = {name.lower(): sql for name, sql in {**_OPERATORS, **_FUNCTIONS}.items()}


def definition_name(sql: str) -> str:
    """Return the name in the Table API of a built-in function."""
    return _BY_SQL.get(sql, sql.lower())


def sql_name(name: str) -> str | None:
    """Return the name in SQL of a built-in function of the Table API; None: it is the same, or there is none."""
    return _BY_NAME.get(name.lower())
