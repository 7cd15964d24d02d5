"""The table whose values are hard for expressions: limits of types, NULL, signs, text beyond the BMP, clock changes."""

from __future__ import annotations

import json
from pathlib import Path

COLUMNS = {
    "b": "BOOLEAN",
    "ti": "TINYINT",
    "si": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "m": "DECIMAL(10, 3)",
    "w": "DECIMAL(38, 18)",
    "s": "STRING",
    "n": "STRING",
    "c": "STRING",
    "j": "STRING",
    "da": "DATE",
    "t": "TIME(0)",
    "ts0": "TIMESTAMP(0)",
    "ts3": "TIMESTAMP(3)",
    "ts6": "TIMESTAMP(6)",
    "lz": "TIMESTAMP_LTZ(3)",
    "a": "ARRAY<INT>",
    "x": "ARRAY<STRING>",
    "k": "MAP<STRING, INT>",
    "r": "ROW<x INT, y STRING>",
    "y": "BYTES",
}

ROWS = 16
ZONE = "America/New_York"

_VALUES = {
    "b": [True, False, None],
    "ti": [127, -128, 0, None, 1, -1, 5, -7],
    "si": [32767, -32768, 0, None, 1, -1, 128, -129],
    "i": [2147483647, -2147483648, 0, None, 1, -1, 7, -7, 100, 12345, -12345, 65536, 2, -2, 3, 32768],
    "l": [
        2**63 - 1,
        -(2**63),
        0,
        None,
        1,
        -1,
        2**31,
        -(2**31) - 1,
        1000,
        1709201472,
        1709201472123,
        10,
        -10,
        2,
        255,
        4,
    ],
    "f": [3.4e38, -1.5, 0.1, None, 1e-10, 16777216, 0, -0.0, 1e10, 123456.789, 2.5, -2.5, 0.001, 1e7, 3, -0.5],
    "d": [1.7e308, -1.5, 0.1, None, 1e-10, 1e21, 0, -0.0, 1e7, 9999999.0, 2.5, -0.5, 0.001, 123456789.125, -3, 1.005],
    "m": [9999999.999, -9999999.999, 0.005, None, -0.001, 0, 1.5, 2.5, -2.5, 12345.678, 0.999, 1, -1, 10, 0.015, -0.5],
    "w": [
        "99999999999999999999.999999999999999999",
        "-99999999999999999999.999999999999999999",
        "0.000000000000000001",
        None,
        "1.5",
        "-1.5",
        "0",
        "2",
        "3",
        "12345678901234567890.5",
        "0.333333333333333333",
        "-0.000000000000000005",
        "7",
        "10",
        "0.1",
        "1000",
    ],
    "s": [
        "hello",
        "",
        " ",
        None,
        "Ünïcödé",
        "😀a😀b",
        "aaa",
        "it's",
        "a,b,,c",
        "A_B%c\\d",
        "Straße",
        "\tx\n",
        "Hello World foo-BAR",
        "  pad  ",
        "a.b*c",
        "İı",
    ],
    "n": [
        "12",
        "-3.7",
        " 42 ",
        None,
        "1e3",
        "abc",
        "",
        "99999999999",
        "0x1F",
        "+5",
        ".5",
        "NaN",
        "Infinity",
        "true",
        "F",
        "1d",
    ],
    "c": [
        "2024-02-29",
        "2024-02-30",
        "2024-03-10 02:30:00",
        None,
        "24:00:00",
        "2024-1-5",
        "12:30:45.123456",
        "2024-02-29T10:11:12",
        "2024-02-29 10:11:12.123456",
        "10:11",
        "0001-01-01",
        "9999-12-31 23:59:59.999",
        "2024-11-03 01:30:00",
        "2024-02-29 10:11",
        "1969-12-31 23:59:59.5",
        " 2024-02-29 ",
    ],
    "j": [
        '{"a": 1, "b": [1, 2, {"c": null}]}',
        '{"a": "x\\"y", "b": []}',
        '{"a": null}',
        None,
        "[1, 2.50, true]",
        '"text"',
        "12",
        "not json",
        "",
        '{"a": {"b": {"c": 1.0}}, "d e": 5}',
        '{"a": 1e3, "a": 2}',
        '{"a": "é😀"}',
        "null",
        "{'a': 1}",
        '{"a": true} x',
        " {} ",
    ],
    "da": [
        "2024-02-29",
        "1969-12-31",
        "1970-01-01",
        None,
        "0001-01-01",
        "9999-12-31",
        "2024-03-10",
        "1582-10-10",
        "1900-01-01",
        "2024-12-30",
        "2023-01-01",
        "2024-11-03",
        "2021-01-03",
        "2000-06-30",
        "2024-01-31",
        "1899-12-31",
    ],
    "t": ["00:00:00", "23:59:59", "12:30:45", None, "01:02:03", "10:00:00", "00:00:01", "18:45:00"],
    "y": ["aGVsbG8=", "", "AP8=", None, "8J+YgA==", "AAECAw==", "/w==", "QQ=="],
    "a": [[1, 2, 3], [], [None, 1], None, [3, 1, 2, 1], [5], [None], [-1, 0, 2147483647]],
    "x": [["b", "a"], [], ["", None, "a"], None, ["a", "a", "b"], ["😀", "é"], [None, None], ["x,y", "z"]],
    "k": [{"a": 1, "b": 2}, {}, {"a": None}, None, {"z": 26, "": 0}, {"b": 5}, {"a": -1}, {"é": 7}],
    "r": [{"x": 1, "y": "a"}, {"x": None, "y": None}, {"x": 2, "y": ""}, None, {"x": -5, "y": "ü"}, {"x": 1, "y": "b"}],
}
_TIMES = [
    "2024-02-29 10:11:12.123456",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    None,
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "1900-01-01 12:00:00.5",
    "2024-12-30 23:59:59.9995",
    "2023-01-01 00:00:00.000001",
    "2024-01-31 12:34:56.789",
    "2021-01-03 06:00:00.1",
    "2000-06-30 23:59:59.5",
    "2024-07-01 00:00:00.05",
    "1883-11-18 12:00:00",
]
_INSTANTS = [
    "2024-02-29 15:11:12.123Z",
    "1969-12-31 23:59:59.999Z",
    "1970-01-01 00:00:00Z",
    None,
    "2024-03-10 06:59:59.999Z",
    "2024-03-10 07:00:00Z",
    "2024-11-03 05:30:00Z",
    "2024-11-03 06:30:00Z",
    "1900-01-01 12:00:00.5Z",
    "2024-12-31 23:59:59.999Z",
    "2023-01-01 04:59:59Z",
    "2024-01-31 12:34:56.789Z",
    "2021-01-03 06:00:00.1Z",
    "2000-06-30 23:59:59.5Z",
    "2024-07-01 03:59:59.05Z",
    "2024-07-01 04:00:00Z",
]


def _cut(text: str | None, digits: int) -> str | None:
    if text is None or "." not in text:
        return text
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction[:digits]}" if digits else whole


def rows() -> list[dict[str, object]]:
    """Return the rows as JSON has them; ids start with 1."""
    values = dict(_VALUES, ts6=_TIMES, lz=_INSTANTS)
    values |= {f"ts{digits}": [_cut(time, digits) for time in _TIMES] for digits in (0, 3)}
    return [
        {"id": number + 1} | {name: found[number % len(found)] for name, found in values.items()}
        for number in range(ROWS)
    ]


def write_inputs(directory: Path) -> str:
    """Write the table's file, and return the statement that declares the table."""
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows())
    (directory / "rows.json").write_text(text, encoding="utf-8")
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    options = f"'connector' = 'filesystem', 'path' = '{directory.as_uri()}', 'format' = 'json'"
    return f"CREATE TEMPORARY TABLE v (id INT, {columns}) WITH ({options})"
