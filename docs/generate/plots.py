"""Draws the plots of docs/performance.md into docs/images, from the tables in benchmarks/results.

    python -m docs.generate.plots

`tests/docs/test_pictures.py` checks that the committed files are up to date.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from docs.generate.diagrams import IMAGES
from docs.generate.svg import BLUE, GREEN, GREY, ORANGE, Svg

__all__ = ["PLOTS", "rows_below"]

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
_ENGINES = {
    "firesteel": ORANGE,
    "PySpark, one batch job": BLUE,
    "transformWithState": "#8fb8e0",
    "PyFlink": GREEN,
}
_PALE = "#e6e9ee"
_SOAK = "2026-11-30_soak.md"
_SOAK_LINES = {
    "JobManager PSS, MB": ORANGE,
    "JobManager descriptors": "#f3bd8b",
    "JobManager objects, thousands": "#b5651d",
    "JVM PSS, MB": BLUE,
    "JVM threads": "#8fb8e0",
    "slot PSS, MB": GREEN,
    "slot threads": "#9fd6b0",
    "files of checkpoints": GREY,
}


def rows_below(file_name: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of a results file, without its head.

    Args:
        file_name: Below `benchmarks/results`.
        heading: Beginning of the heading, without its `#`.

    Raises:
        ValueError: there is no such heading or table.
    """
    rows = _table_below(file_name, heading)
    if len(rows) < 2:
        raise ValueError(f"{file_name} has no table below {heading!r}")
    return rows[1:]


def _table_below(file_name: str, heading: str) -> list[list[str]]:
    parts = re.split(r"^#+ ", (RESULTS / file_name).read_text(), flags=re.MULTILINE)
    section = next((part for part in parts if part.startswith(heading)), None)
    if section is None:
        raise ValueError(f"{file_name} has no heading that begins with {heading!r}")
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return [row for row in rows if set(row[0]) - set("-:")]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _engine(name: str) -> str:
    if name.startswith("firesteel"):
        return "firesteel"
    if "mapInArrow" in name:
        return "PySpark, one batch job"
    return "transformWithState" if "transformWithState" in name else "PyFlink"


def throughput() -> str:
    """Return the plot of the throughput of six workloads."""
    names = [
        ("W1", "parse, map, filter"),
        ("W2", "word count"),
        ("W3", "keyed state"),
        ("W4", "tumbling window"),
        ("W5", "sliding window"),
        ("W6", "windowed join"),
    ]
    groups = []
    for number, text in names:
        rows = rows_below("2026-11-21_workloads.md", f"{number}:")
        groups.append((f"{number} {text}", [(_engine(row[0]), _number(row[2])) for row in rows]))
    return grouped_bars(
        "Throughput of six workloads", "records per second, logarithmic", groups, _ENGINES, log_from=1000
    )


def sql() -> str:
    """Return the plot of the throughput of SQL queries."""
    labels = {
        "firesteel, STREAMING": "firesteel",
        "PyFlink (Flink SQL), STREAMING": "Flink SQL",
        "firesteel, BATCH": "firesteel, batch mode",
        "Spark SQL, batch": "Spark SQL, batch",
    }
    colors = dict(zip(labels.values(), (ORANGE, GREEN, "#f3bd8b", BLUE), strict=True))
    groups = []
    for name in ("filter", "group", "tumble"):
        rates = {row[0]: _number(row[4]) for row in rows_below("2026-11-23_tables.md", f"Tables: {name}")}
        bars = [(label, rates[engine]) for engine, label in labels.items()]
        groups.append((name, bars))
    return grouped_bars("Throughput of SQL over 1,000,000 rows", "rows per second", groups, colors)


def operators() -> str:
    """Return the plot of the operators of SQL, as ratios to Flink SQL."""
    rows = rows_below("2026-12-01_sql_operators_10000000.md", "Operators\n")
    groups = [(row[0], [("firesteel", _number(row[3]))]) for row in rows]
    title = "Operators of streaming SQL, 10,000,000 rows"
    return grouped_bars(title, "times as fast as Flink SQL", groups, {"firesteel": ORANGE}, label_width=450)


def latency() -> str:
    """Return the plot of latencies."""
    colors = {"p50": BLUE, "p99": "#8fb8e0"}
    rows = rows_below("2026-11-23_latency.md", "Latency")
    groups = [(re.sub(r" \(.*?\)", "", row[0]), [("p50", _number(row[2])), ("p99", _number(row[3]))]) for row in rows]
    return grouped_bars(
        "Latency at 500 records per second", "ms, logarithmic", groups, colors, log_from=5, label_width=400
    )


def start() -> str:
    """Return the plot of start times."""
    rows = rows_below("2026-11-27_start.md", "Start")
    groups = [(row[0], [("seconds", _number(row[1]))]) for row in rows]
    return grouped_bars("From command to exit, three records", "seconds", groups, {"seconds": ORANGE}, label_width=260)


def scaling() -> str:
    """Return the plot of the cost of a record, by records and by keys."""
    svg = Svg(900, 300, "Cost of a record by number of records and by number of keys")
    for left, name, head in (
        (70, "W3 by records", "records, 100,000 keys"),
        (520, "W3 by keys", "keys, 4,000,000 records"),
    ):
        rows = rows_below("2026-11-21_scaling.md", name)
        points = [(_number(row[0]), _number(row[2])) for row in rows]
        _lines(svg, left, head, {"": points}, 2.0, "us per record")
    return str(svg)


def parallelism() -> str:
    """Return the plot of costs by slots on two cores."""
    svg = Svg(900, 300, "Costs by number of slots, on two cores")
    name = "2026-11-22_parallelism.md"
    records = [(_number(row[0]), _number(row[1])) for row in rows_below(name, "Records")]
    starts = [(_number(row[0]), _number(row[1])) for row in rows_below(name, "Start")]
    batches = [(_number(row[0]), _number(row[1])) for row in rows_below(name, "A batch of one line")]
    _lines(svg, 70, "slots", {"4,000,000 records": records, "start of a job": starts}, 16.0, "seconds")
    _lines(svg, 520, "slots", {"a batch of one line": batches}, 60.0, "ms")
    return str(svg)


def soak() -> str:
    """Return the plot of what a cluster uses over time, as shares of what it used when it was warm."""
    head, *rows = _table_below(_SOAK, "Course")
    svg = Svg(900, 330, "What a cluster uses over time")
    width, height, base, left, top = 640, 230, 280, 60, 1.5
    _levels(svg, left, width, base, height, [f"{top * step / 3:.0%}" for step in range(4)])
    minutes = [_number(row[0]) for row in rows]
    for minute in range(0, math.ceil(minutes[-1]) + 1, 15):
        svg.text(left + width * minute / minutes[-1], base + 18, str(minute), size=11, color=GREY)
    svg.text(left + width / 2, base + 38, "minutes", size=12, color=GREY)
    svg.text(20, 28, "Share of what was used after ten minutes", anchor="start", bold=True, size=15)
    warm = next(number for number, minute in enumerate(minutes) if minute >= 10)
    for line, (name, color) in enumerate(_SOAK_LINES.items()):
        values = [_number(row[head.index(name)]) for row in rows]
        points = [
            (left + width * minute / minutes[-1], base - height * min(value / values[warm], top) / top)
            for minute, value in zip(minutes, values, strict=True)
        ]
        svg.line(points, color=color)
        svg.text(left + width + 16, 60 + 20 * line, name.split(",")[0], anchor="start", size=12, color=color)
    return str(svg)


def _lines(
    svg: Svg, left: float, head: str, series: Mapping[str, Sequence[tuple[float, float]]], top: float, unit: str
) -> None:
    """Draw lines over a logarithmic axis."""
    width, height, base = 330, 200, 245
    numbers = sorted({x for points in series.values() for x, _ in points})
    low, high = math.log10(numbers[0]), math.log10(numbers[-1])
    _levels(svg, left, width, base, height, [f"{top * step / 4:g}" for step in range(5)])
    svg.text(left - 40, 28, unit, anchor="start", size=12, color=GREY)
    for x in numbers:
        place = left + width * (math.log10(x) - low) / (high - low)
        svg.text(place, base + 18, _short(x), size=11, color=GREY)
    svg.text(left + width / 2, base + 38, head, size=12, color=GREY)
    for (name, points), color in zip(series.items(), (ORANGE, BLUE), strict=False):
        placed = [(left + width * (math.log10(x) - low) / (high - low), base - height * y / top) for x, y in points]
        svg.line(placed, color=color)
        for x, y in placed:
            svg.circle(x, y, color)
        svg.text(placed[0][0] + 6, placed[0][1] - 24, name, anchor="start", size=12, color=color, bold=True)


def _levels(svg: Svg, left: float, width: float, base: float, height: float, texts: Sequence[str]) -> None:
    """Draw levels from the base to the top, each with its text."""
    for step, text in enumerate(texts):
        y = base - height * step / (len(texts) - 1)
        svg.line([(left, y), (left + width, y)], color=_PALE)
        svg.text(left - 8, y + 4, text, anchor="end", size=11, color=GREY)


def _short(number: float) -> str:
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number / 1e3:g}k" if number >= 1e3 else f"{number:g}"


def grouped_bars(
    title: str,
    unit: str,
    groups: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    colors: Mapping[str, str],
    log_from: float = 0,
    label_width: int = 180,
) -> str:
    """Return horizontal bars in groups, each with its value; with `log_from` on a logarithmic axis from there."""
    bar, gap, top = 16, 14, 62
    height = top + sum(bar * len(bars) + gap for _, bars in groups) + 10
    svg = Svg(900, height, title)
    svg.text(20, 28, title, anchor="start", bold=True, size=15)
    svg.text(880, 28, unit, anchor="end", size=12, color=GREY)
    if len(colors) > 1:
        x = 20.0
        for name, color in colors.items():
            svg.rect(x, 40, 11, 11, color, stroke="none", radius=2)
            svg.text(x + 16, 50, name, anchor="start", size=12, color=GREY)
            x += 34 + 7 * len(name)
    most = max(value for _, bars in groups for _, value in bars)
    width = 900 - label_width - 120

    def length(value: float) -> float:
        if log_from:
            return width * math.log(value / log_from) / math.log(most / log_from)
        return width * value / most

    y = top
    for name, bars in groups:
        svg.text(label_width, y + bar * len(bars) / 2 + 4, name, anchor="end", size=12)
        for kind, value in bars:
            svg.rect(label_width + 12, y + 1, max(length(value), 2), bar - 3, colors[kind], stroke="none", radius=2)
            shown = f"{value:,.0f}" if value >= 100 else f"{value:g}"
            svg.text(label_width + 18 + max(length(value), 2), y + 12, shown, anchor="start", size=11, color=GREY)
            y += bar
        y += gap
    return str(svg)


PLOTS: Mapping[str, Callable[[], str]] = {
    "plot_throughput.svg": throughput,
    "plot_sql.svg": sql,
    "plot_operators.svg": operators,
    "plot_latency.svg": latency,
    "plot_start.svg": start,
    "plot_scaling.svg": scaling,
    "plot_parallelism.svg": parallelism,
    "plot_soak.svg": soak,
}
"""How each plot is drawn, by the name of its file."""


if __name__ == "__main__":
    for file_name, draw in PLOTS.items():
        (IMAGES / file_name).write_text(draw())
