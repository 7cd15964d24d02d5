"""What firesteel does differently from Flink in `expressions.py`: why, and in which rows; no rows means in all."""

from __future__ import annotations

from itertools import permutations

from tests.flink_recordings.values.json_paths import FAILING, json_path_expressions
from tests.flink_recordings.values.mixed_numbers import TYPES, mixed

ROWS_BY_REASON: dict[str, dict[str, tuple[int, ...]]] = {
    "A character beyond the BMP is one character, not two": {
        "LPAD(s, 7, 'xy')": (6,),
        "RPAD(s, 7, 'xy')": (6,),
        "RPAD(s, 3, '😀')": (2, 3, 6, 16),
        "REPLACE(s, '', 'x')": (6,),
        "OVERLAY(s PLACING 'ZZ' FROM 2)": (6,),
        "OVERLAY(s PLACING 'ZZ' FROM 2 FOR 0)": (6,),
        "OVERLAY(s PLACING 'ZZ' FROM 2 FOR -1)": (6,),
        "OVERLAY(s PLACING '' FROM 1 FOR 2)": (6,),
        "SPLIT(s, '')": (6,),
        "REGEXP_REPLACE(s, '', '-')": (6,),
        "REGEXP_COUNT(s, '')": (6,),
        "REGEXP_INSTR(s, 'a')": (6,),
        "REGEXP_INSTR(s, 'b|B')": (6,),
        "PRINTF('%s %10s %-10s|', s, s, s)": (6,),
        "JSON_QUOTE(s)": (6,),
        "CAST(y AS CHAR(3))": (5, 13),
        "TRY_CAST(x AS CHAR(4))": (6, 14),
        "TRY_CAST(x AS VARCHAR(4))": (6, 14),
        "TRY_CAST(y AS CHAR(4))": (5, 13),
    },
    "The shortest digits of a floating point number; Java before 19 may write more": {
        "f * d": (9, 10, 14),
        "f + i": (2,),
        "f + l": (7, 8, 10, 11),
        "POWER(i, 2)": (2,),
        "TRY_CAST(i AS FLOAT)": (1, 2),
        "TRY_CAST(l AS FLOAT)": (7, 8, 10, 11),
        "TRY_CAST(d AS FLOAT)": (14,),
        "TRY_CAST(n AS FLOAT)": (8,),
    },
    "The last digit of a transcendental function": {
        "SIN(d)": (11,),
        "ATAN2(d, i)": (6,),
    },
    "A value or NULL, where Flink fails with a NullPointerException or ClassCastException": {
        "TRUNCATE(d, 32767)": (1, 6),
        **{
            mixed("GREATEST({0}, {1})", *pair): (2, 4, 6, 8, 11, 14)
            for pair in permutations(TYPES, 2)
            if pair[0] in ("DECIMAL(10, 1)", "DECIMAL(12, 4)")
            or (pair[0] == "DECIMAL(30, 12)" and pair[1] in ("FLOAT", "DOUBLE"))
        },
        "TRUNCATE(d)": (1, 6),
        "TRUNCATE(d, 1)": (1, 6),
        "TRUNCATE(d, -1)": (1, 6),
        "TRUNCATE(f, 1)": (1,),
        "GREATEST(m, i)": (4,),
        "LEAST(m, w)": (4,),
        "JSON_VALUE(j, '$.a' RETURNING INTEGER)": (2, 12, 15),
        "JSON_VALUE(j, '$.a' RETURNING DOUBLE)": (1, 2, 11, 12, 15),
        "JSON_VALUE(j, '$.a' RETURNING BOOLEAN)": (1, 2, 11, 12),
    },
    "Entries of a map keep their order; in Flink they have that of Java's HashMap": {
        "STR_TO_MAP(s)": (9,),
        "STR_TO_MAP(s, ',', 'b')": (9,),
        "STR_TO_MAP('a=1,,b', ',', '=')": (),
        "MAP_KEYS(k)": (5, 13),
        "MAP_VALUES(k)": (5, 13),
        "MAP_ENTRIES(k)": (5, 13),
        "MAP_UNION(k, MAP['a', 9])": (5, 6, 8, 13, 14, 16),
        "CAST(k AS STRING)": (5, 13),
        "CAST(k AS MAP<STRING, STRING>)": (5, 13),
        "TRY_CAST(k AS STRING)": (5, 13),
        "TRY_CAST(k AS CHAR(4))": (5, 13),
        "TRY_CAST(k AS VARCHAR(4))": (5, 13),
    },
    "Years are 1 to 9999: others are errors, or written with five digits": {
        "CEIL(ts3 TO SECOND)": (6,),
        "CEIL(ts3 TO HOUR)": (6,),
        "CEIL(ts3 TO DAY)": (6,),
        "CEIL(ts6 TO SECOND)": (6,),
        "CEIL(ts6 TO DAY)": (6,),
        "da + INTERVAL '1' DAY": (6,),
        "da - INTERVAL '1' MONTH": (5,),
        "da + INTERVAL '1' YEAR": (6,),
        "da + INTERVAL '25' HOUR": (6,),
        "da + INTERVAL '13' MONTH": (6,),
        "ts3 + INTERVAL '1' MONTH": (6,),
        "ts3 - INTERVAL '1' YEAR": (5,),
        "ts3 + INTERVAL '1.5' SECOND": (6,),
        "ts3 + INTERVAL '0.001' SECOND": (6,),
        "ts6 + INTERVAL '0.001' SECOND": (6,),
        "ts0 + INTERVAL '1' SECOND": (6,),
        "da + i * INTERVAL '1' DAY": (1, 2),
        "TIMESTAMPADD(SECOND, 1, ts3)": (6,),
        "TIMESTAMPADD(MINUTE, -1, ts6)": (5,),
        "TIMESTAMPADD(MONTH, 1, da)": (6,),
        "TIMESTAMPADD(MONTH, -1, ts3)": (5,),
        "TIMESTAMPADD(QUARTER, 1, da)": (6,),
        "TIMESTAMPADD(YEAR, 1, da)": (6,),
        "TIMESTAMPADD(YEAR, -4, ts3)": (5,),
        "DATE_FORMAT(ts3, 'e c w W F')": (5, 6),
        "DATE_FORMAT(ts3, 'Y-ww')": (5, 6),
        "(ts3, INTERVAL '1' DAY) OVERLAPS (ts6, ts6)": (6,),
        "CAST(ts6 AS TIMESTAMP_LTZ(3))": (6,),
        "TRY_CAST(c AS TIMESTAMP_LTZ(3))": (12,),
        "TRY_CAST(ts0 AS TIMESTAMP_LTZ(3))": (6,),
        "TRY_CAST(ts3 AS TIMESTAMP_LTZ(3))": (6,),
        "TRY_CAST(ts6 AS TIMESTAMP_LTZ(3))": (6,),
    },
    "Days before October 1582 are those of the Gregorian calendar, and ends of months in the year 1, too": {
        "FLOOR(da TO MONTH)": (8,),
        "FLOOR(da TO QUARTER)": (8,),
        "FLOOR(da TO WEEK)": (5, 8),
        "FLOOR(da TO DAY)": (5, 8),
        "CEIL(da TO MONTH)": (5, 6, 8),
        "CEIL(da TO YEAR)": (5, 6),
        "CEIL(da TO WEEK)": (5, 6, 8),
        "CEIL(da TO QUARTER)": (5, 6, 8),
        "FLOOR(ts3 TO WEEK)": (5,),
        "CEIL(ts3 TO MONTH)": (5, 6),
        "CEIL(ts3 TO YEAR)": (5, 6),
    },
    "Fractions are cut downwards; Flink cuts those before 1970 upwards, to the next second or day": {
        "CAST(ts6 AS TIMESTAMP(0))": (2, 9),
        "CAST(ts6 AS TIMESTAMP(1))": (2,),
        "CAST(ts3 AS TIMESTAMP_LTZ(0))": (6, 9),
        "CAST(lz AS TIMESTAMP(0))": (2, 9),
        "CAST(ts6 AS TIME)": (2, 9),
        "TRY_CAST(ts0 AS DATE)": (2, 9, 16),
        "TRY_CAST(ts3 AS DATE)": (2, 9, 16),
        "TRY_CAST(ts3 AS TIME)": (2, 9),
        "TRY_CAST(ts3 AS TIMESTAMP(0))": (2, 9),
        "TRY_CAST(ts6 AS DATE)": (2, 9, 16),
        "TRY_CAST(ts6 AS TIME)": (2, 9),
        "TRY_CAST(ts6 AS TIMESTAMP(0))": (2, 9),
        "TRY_CAST(lz AS TIMESTAMP(0))": (2, 9),
    },
    "NULL, where Flink has declared NOT NULL and shows an empty text": {
        "CAST(1 AS DECIMAL(38, 38))": (),
        "CAST(9.96 AS DECIMAL(2, 1))": (),
        "CAST(99.99 AS DECIMAL(3, 1))": (),
    },
    "Accepted, where Flink refuses the expression": {
        "SHA2('a', 128)": (),
    },
    "A value, where Flink lacks a class of its JSON library": {
        **dict.fromkeys(json_path_expressions(FAILING), ()),
        "JSON_EXISTS(j, '$.b[?(@ > 1)]')": (1,),
    },
    "Refused, where Flink goes on with the result of the function": dict.fromkeys(
        json_path_expressions("$.a.first().b"), ()
    ),
    "Refused, where Flink computes a value": {
        "SHA2(s, i)": (5,),
        "CAST(5 AS INTERVAL DAY)": (),
        "SOURCE_WATERMARK()": (),
    },
    "An error, where Flink goes on with NULL or a default": {
        "CONVERT_TZ('2024-01-01 00:00:00', 'nowhere', 'UTC')": (),
        "CONVERT_TZ('2024-01-01 00:00:00', 'PST', 'UTC')": (),
        "ts3 = c": (5, 7, 8, 10, 14, 16),
        "da = c": (2, 5, 7, 8, 10),
        "JSON_OBJECT('j' VALUE JSON(j))": (9,),
    },
    "NULL, where Flink fails or reads past the text": {
        "TO_DATE(c, 'yyyy-MM-dd')": (5, 7, 10, 11),
        "TO_DATE(c, 'yyyy-M-d')": (5, 7, 10, 11),
        "TO_TIMESTAMP_LTZ(c)": (5, 7, 8, 10, 11, 14, 16),
        "TO_TIMESTAMP_LTZ(c, 'yyyy-MM-dd HH:mm:ss')": (2, 11, 16),
        "JSON_STRING(TRY_PARSE_JSON(j))": (15,),
    },
    "Timestamps have microseconds": {
        "TO_TIMESTAMP_LTZ(1, 9)": (),
        "TIMESTAMP '2024-02-29 10:11:12.1234567'": (),
        "TIMESTAMP '2024-02-29 10:11:12.123456789'": (),
    },
    "Keys of maps are not NULL, and are there once": {
        "MAP[s, i]": (4,),
        "MAP_FROM_ARRAYS(x, x)": (3, 5, 7, 11, 13, 15),
        "MAP_FROM_ARRAYS(ARRAY['a', 'a'], ARRAY[1, 2])": (),
        "CAST(MAP[da, b] AS STRING)": (4,),
    },
    "No overflow, where Flink's numbers or sums have too few digits": {
        "TIMESTAMPDIFF(WEEK, ts3, TIMESTAMP '2024-02-29 12:00:00')": (5, 6, 9, 16),
        "SUM(w)": (1,),
        "AVG(w)": (1,),
    },
    "NaN equals nothing, not even itself in a constant, and -0.0 equals 0.0 in IN as it does with =": {
        "CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)": (),
        "d IN (0, 0.1, 2.5)": (8,),
    },
    "A list of IN has a type that holds all its values; Flink cuts 2.5 to the BIGINT 2": {
        "l IN (1, 2.5, -1)": (14,),
        **{
            mixed("{0} IN ({1}, 7)", kind, other): rows
            for kind in ("DECIMAL(10, 1)", "DECIMAL(12, 4)")
            for other, rows in (("FLOAT", (1, 5, 7, 9, 10, 12, 13, 15, 16)), ("DOUBLE", (1, 10, 12, 16)))
        },
    },
    "A time after 23:59:59 is one after midnight": {
        "CEIL(t TO MINUTE)": (2, 10),
    },
    "TIME(3) has three digits when it is text": {
        "CAST(ts6 AS TIME(3))": (3, 5, 7, 8, 9, 11, 13, 14, 15, 16),
    },
    "<> of rows with NULL is unknown, as = is": {
        "ROW(i, s) <> ROW(1, 'x')": (4,),
    },
    "Texts compare by code points, as their UTF-8 does": {
        "'😀' > '\uffff'": (),
    },
    "Texts that are no numbers, such as 'F' or '1d', are no DECIMAL": {
        "TRY_CAST(s AS DECIMAL(5, 2))": (12,),
        "TRY_CAST(n AS DECIMAL(5, 2))": (15, 16),
    },
    "The sums of a variance are exact": {
        "VARIANCE(m)": (1,),
    },
}

DIFFERENT = {expression: rows for found in ROWS_BY_REASON.values() for expression, rows in found.items()}
