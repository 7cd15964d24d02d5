"""What firesteel does differently from Flink with arguments of all types, by form."""

from __future__ import annotations

DIFFERENT: dict[str, dict[str, str]] = {
    "Accepted, where Flink has no code": {
        "JSON_VALUE(j, '$.a' DEFAULT {x} ON EMPTY)": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; s ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y"
        ),
        "COUNT(DISTINCT {x})": "k",
        "MIN({x})": "y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "MIN(DISTINCT {x})": "y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "MAX({x})": "y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "MAX(DISTINCT {x})": "y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "COLLECT(DISTINCT {x})": "k",
        "FIRST_VALUE(DISTINCT {x})": "k",
        "SINGLE_VALUE({x})": "a ; x ; k ; r ; y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "APPROX_COUNT_DISTINCT({x})": "b ; a ; x ; k ; r ; y ; INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ABS({x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ROUND(d, {x})": "l",
        "TRUNCATE(d, {x})": "l",
        "ATAN2({x}, i)": "m ; w",
        "ATAN2(d, {x})": "m ; w",
        "GREATEST({x}, l)": "NULL",
        "GREATEST(i, {x})": "NULL",
        "LEAST({x}, d)": "NULL",
        "LEAST(f, {x})": "NULL",
        "{x} + {y}": "INTERVAL '1' DAY | lz ; INTERVAL '1' MONTH | lz",
        "GREATEST({x}, {y})": (
            "ti | NULL ; si | NULL ; i | NULL ; l | NULL ; f | NULL ; d | NULL ; m | NULL ; w | NULL ; "
            "INTERVAL '1' DAY | NULL ; INTERVAL '1' MONTH | NULL ; NULL | ti ; NULL | si ; NULL | i ; NULL | l ; "
            "NULL | f ; NULL | d ; NULL | m ; NULL | w ; NULL | INTERVAL '1' DAY ; NULL | INTERVAL '1' MONTH"
        ),
    },
    "Accepted, where Flink refuses it": {
        "JSON_VALUE(j, '$.a' DEFAULT {x} ON EMPTY)": "NULL",
        "SUM(SUM(i)) OVER (ORDER BY {x})": "NULL",
        "TO_TIMESTAMP_LTZ(l, {x})": "ti ; si ; l",
        "ROW({x}, s)": "NULL",
        "ROW(i, {x})": "NULL",
        "ROW({x}, s, NULL)": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; s ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y ; "
            "INTERVAL '1' DAY ; INTERVAL '1' MONTH ; NULL"
        ),
        "ROW(i, {x}, NULL)": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; s ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y ; "
            "INTERVAL '1' DAY ; INTERVAL '1' MONTH ; NULL"
        ),
        "ROW(i, s, {x})": "NULL",
        "ARRAY_SLICE(a, {x}, 2)": "l",
        "ARRAY_SLICE(a, 1, {x})": "l",
        "ARRAY_SLICE(a, {x})": "l",
        "PERCENTILE(i, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "{x} = {y}": "NULL | r",
        "{x} <> {y}": "NULL | r",
        "{x} IS DISTINCT FROM {y}": "NULL | r",
        "{x} IN ({y})": "r | NULL ; NULL | r ; NULL | NULL",
        "IF(b, {x}, {y})": (
            "a | a ; x | x ; k | k ; r | r ; INTERVAL '1' DAY | INTERVAL '1' DAY ; "
            "INTERVAL '1' MONTH | INTERVAL '1' MONTH"
        ),
        "COALESCE({x}, {y})": "NULL | NULL",
        "GREATEST({x}, {y})": "NULL | NULL",
        "ARRAY[{x}, {y}]": (
            "INTERVAL '1' DAY | NULL ; INTERVAL '1' MONTH | NULL ; NULL | INTERVAL '1' DAY ; "
            "NULL | INTERVAL '1' MONTH ; NULL | NULL"
        ),
        "MAP[{x}, 1, {y}, 2]": (
            "INTERVAL '1' DAY | NULL ; INTERVAL '1' MONTH | NULL ; NULL | INTERVAL '1' DAY ; NULL | INTERVAL '1' MONTH"
        ),
        "ROW({x}, {y})": (
            "b | NULL ; ti | NULL ; si | NULL ; i | NULL ; l | NULL ; f | NULL ; d | NULL ; m | NULL ; w | NULL ; "
            "s | NULL ; da | NULL ; t | NULL ; ts0 | NULL ; ts3 | NULL ; ts6 | NULL ; lz | NULL ; a | NULL ; "
            "x | NULL ; k | NULL ; r | NULL ; y | NULL ; INTERVAL '1' DAY | NULL ; INTERVAL '1' MONTH | NULL ; "
            "NULL | b ; NULL | ti ; NULL | si ; NULL | i ; NULL | l ; NULL | f ; NULL | d ; NULL | m ; NULL | w ; "
            "NULL | s ; NULL | da ; NULL | t ; NULL | ts0 ; NULL | ts3 ; NULL | ts6 ; NULL | lz ; NULL | a ; "
            "NULL | x ; NULL | k ; NULL | r ; NULL | y ; NULL | INTERVAL '1' DAY ; NULL | INTERVAL '1' MONTH ; "
            "NULL | NULL"
        ),
    },
    "Refused, where Flink accepts it": {
        "OVERLAY({x} PLACING 'a' FROM 1)": "y",
        "TIMESTAMPDIFF(HOUR, {x}, {x})": "t",
        "CAST({x} AS INTERVAL DAY)": "ti ; si ; i ; l",
        "CAST({x} AS INTERVAL MONTH)": "ti ; si ; i ; l",
        "COUNT({x}, b)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "COUNT(*) FILTER (WHERE {x})": "b",
        "COALESCE({x}, l, 0)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "COALESCE(i, {x}, 0)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "COALESCE({x}, 0)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "IFNULL({x}, 0)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ELT(1, {x})": "y",
        "JSON_VALUE({x}, '$.a')": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y"
        ),
        "JSON_QUERY({x}, '$')": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y"
        ),
        "JSON_QUERY(j, {x})": (
            "b ; ti ; si ; i ; l ; f ; d ; m ; w ; da ; t ; ts0 ; ts3 ; ts6 ; lz ; a ; x ; k ; r ; y ; "
            "INTERVAL '1' DAY ; INTERVAL '1' MONTH"
        ),
        "ARRAY_APPEND(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_PREPEND(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_CONTAINS(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_POSITION(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_REMOVE(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_SLICE(a, {x}, 2)": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_SLICE(a, 1, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "ARRAY_SLICE(a, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "COUNT(i, {x})": "INTERVAL '1' DAY ; INTERVAL '1' MONTH",
        "PERCENTILE({x}, 0.5)": "NULL",
        "{x} + {y}": "t | INTERVAL '1' MONTH ; INTERVAL '1' MONTH | t",
        "{x} - {y}": "t | INTERVAL '1' MONTH",
        "{x} = {y}": (
            "s | INTERVAL '1' DAY ; s | INTERVAL '1' MONTH ; a | x ; x | a ; INTERVAL '1' DAY | s ; "
            "INTERVAL '1' MONTH | s"
        ),
        "{x} <> {y}": (
            "s | INTERVAL '1' DAY ; s | INTERVAL '1' MONTH ; a | x ; x | a ; INTERVAL '1' DAY | s ; "
            "INTERVAL '1' MONTH | s"
        ),
        "{x} < {y}": (
            "a | a ; a | NULL ; x | x ; x | NULL ; k | k ; k | NULL ; r | r ; r | NULL ; NULL | a ; NULL | x ; NULL | k"
        ),
        "{x} >= {y}": (
            "a | a ; a | NULL ; x | x ; x | NULL ; k | k ; k | NULL ; r | r ; r | NULL ; NULL | a ; NULL | x ; NULL | k"
        ),
        "{x} IS DISTINCT FROM {y}": (
            "s | INTERVAL '1' DAY ; s | INTERVAL '1' MONTH ; a | x ; x | a ; INTERVAL '1' DAY | s ; "
            "INTERVAL '1' MONTH | s"
        ),
        "{x} IN ({y})": "s | INTERVAL '1' DAY ; s | INTERVAL '1' MONTH ; a | x ; x | a",
        "{x} BETWEEN {y} AND {y}": (
            "a | a ; a | NULL ; x | x ; x | NULL ; k | k ; k | NULL ; r | r ; r | NULL ; NULL | a ; NULL | x ; NULL | k"
        ),
        "COALESCE({x}, {y})": (
            "t | ts0 ; t | ts3 ; t | ts6 ; ts0 | t ; ts3 | t ; ts6 | t ; INTERVAL '1' DAY | i ; "
            "INTERVAL '1' DAY | l ; INTERVAL '1' DAY | w ; INTERVAL '1' MONTH | i ; INTERVAL '1' MONTH | l ; "
            "INTERVAL '1' MONTH | m ; INTERVAL '1' MONTH | w"
        ),
        "NULLIF({x}, {y})": (
            "s | INTERVAL '1' DAY ; s | INTERVAL '1' MONTH ; a | x ; x | a ; INTERVAL '1' DAY | s ; "
            "INTERVAL '1' MONTH | s"
        ),
        "GREATEST({x}, {y})": "t | ts0 ; t | ts3 ; t | ts6 ; ts0 | t ; ts3 | t ; ts6 | t",
        "MAP['a', {x}, 'b', {y}]": "s | NULL ; NULL | s ; NULL | NULL",
    },
    "Type": {
        "ELT(1, {x})": "NULL",
    },
}
