"""The names of operators in plans, logs and the dashboard, as Flink writes them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

from firesteel.columns.interval_types import DayTimeIntervalType, YearMonthIntervalType
from firesteel.columns.rex import Call, InputRef, Literal, OuterRef, Rex, SubqueryValue, UserCall
from firesteel.columns.type_text import type_text
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import deduplicates
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.outer_refs import query_of, split_operands
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import chained, walk

_INFIX = frozenset({"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE", "||"})


def rex_text(rex: object, names: list[str]) -> str:
    """Return an expression as Flink writes it in plans."""
    if isinstance(rex, InputRef):
        return names[rex.index] if names else f"${rex.index}"
    if isinstance(rex, Literal):
        return _literal_text(rex.value, rex.type)
    if isinstance(rex, UserCall):
        return f"{rex.function.name}({', '.join(rex_text(o, names) for o in rex.operands)})"
    if isinstance(rex, SubqueryValue):
        return _subquery_text(rex, names)
    if isinstance(rex, OuterRef):
        return f"$cor{rex.level}.{rex_text(rex.rex, [])}"
    if not isinstance(rex, Call):
        return str(rex)
    parts = [rex_text(operand, names) for operand in rex.operands]
    if rex.function in _INFIX and len(parts) > 1:
        return f"({f' {rex.function} '.join(parts)})"
    if rex.function in ("CAST", "TRY_CAST"):
        return f"{rex.function}({parts[0]} AS {type_text(rex.type.nullable())})"
    if rex.function.startswith("IS "):
        return f"{parts[0]} {rex.function}"
    return f"{rex.function}({', '.join(parts)})"


def _subquery_text(value: SubqueryValue, names: list[str]) -> str:
    """Return a subquery as Flink writes it: what it is compared with, then the plan of its query in braces."""
    lines: list[str] = []
    waiting = [(query_of(value), 0)]
    while waiting:
        node, depth = waiting.pop()
        lines.append(f"{'  ' * depth}{describe(node)}")
        waiting += [(child, depth + 1) for child in reversed(node.inputs)]
    compared = [rex_text(one, names) for one in split_operands(value)[0]]
    plan = "\n".join(["{", *lines, "}"])
    return f"{'$SCALAR_QUERY' if value.kind == 'SCALAR' else value.kind}({', '.join([*compared, plan])})"


def call_text(rex: Rex, names: list[str]) -> str:
    """Return an expression as Flink writes it for scans, with names before operands: `and(>(a, 1), =(b, 'x'))`."""
    if not isinstance(rex, Call):
        return rex_text(rex, names)
    name = rex.function.lower() if rex.function.isupper() else rex.function
    parts = chained(rex, rex.function) if rex.function in ("AND", "OR") else rex.operands
    return f"{name}({', '.join(call_text(part, names) for part in parts)})"


def _literal_text(value: object, kind: object) -> str:
    if value is None:
        return "null"
    if isinstance(kind, DayTimeIntervalType | YearMonthIntervalType):  # in ms or months
        number = value // datetime.timedelta(milliseconds=1) if isinstance(value, datetime.timedelta) else value
        return f"{number}:{re.sub('[(].*?[)]', '', type_text(kind.nullable()))}"
    return f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def describe(node: object) -> str:
    """Return Flink's description of a node, such as `GroupAggregate(groupBy=[k], select=[k, COUNT(*) AS n])`."""
    rule = _RULES.get(type(node))
    return rule(node) if rule is not None else type(node).__name__


def _names(node: Rel) -> str:
    return ", ".join(node.row_type.names)


def _scan(node: rel.TableScan) -> str:
    parts = [*node.table.path]
    if node.condition is not None:
        parts.append(f"filter=[{call_text(node.condition, [column.name for column in node.table.physical_columns])}]")
    if node.watermark is not None:
        text = rex_text(node.watermark, node.row_type.names)
        parts += [f"watermark=[{text}]", "watermarkEmitStrategy=[on-periodic]"]
    return f"TableSourceScan(table=[[{', '.join(parts)}]], fields=[{_names(node)}])"


def _stream_scan(node: rel.StreamScan) -> str:
    return f"DataStreamScan(table=[[{node.name}]], fields=[{_names(node)}])"


def _select(expressions: Iterable[Rex], names: list[str], source: list[str]) -> str:
    found = []
    for rex, name in zip(expressions, names, strict=True):
        text = rex_text(rex, source)
        found.append(text if text == name else f"{text} AS {name}")
    return ", ".join(found)


def _project(node: rel.Project) -> str:
    source, where = node.input, ""
    if isinstance(source, rel.Filter):
        where = f", where=[{rex_text(source.condition, source.row_type.names)}]"
    conditions = (source.condition,) if isinstance(source, rel.Filter) else ()
    name = _calc((*node.expressions, *conditions))
    return f"{name}(select=[{_select(node.expressions, node.row_type.names, source.row_type.names)}]{where})"


def _calc(expressions: Iterable[Rex]) -> str:
    """Return the name of the operator of expressions, which says whether it calls functions in Python."""
    calls_python = any(isinstance(part, UserCall) for rex in expressions for part in walk(rex))
    return "PythonCalc" if calls_python else "Calc"


def _filter(node: rel.Filter) -> str:
    condition = rex_text(node.condition, node.row_type.names)
    return f"{_calc((node.condition,))}(select=[{_names(node)}], where=[{condition}])"


def _calls(node: rel.Grouped) -> str:
    source, names = node.input.row_type.names, node.row_type.names
    found = [source[key] for key in node.keys]
    for call, name in zip(node.calls, names[len(node.keys) :], strict=False):
        inner = ", ".join(source[i] for i in call.arguments) or "*"
        function = call.function if isinstance(call.function, str) else call.function.name
        distinct = "DISTINCT " if call.distinct else ""
        where = "" if call.condition is None else f" FILTER {source[call.condition]}"
        found.append(f"{function}({distinct}{inner}){where} AS {name}")
    return ", ".join(found)


def _grouped(node: rel.Grouped, name: str, window: str = "") -> str:
    source = node.input.row_type.names
    by = f"groupBy=[{', '.join(source[key] for key in node.keys)}], " if node.keys else ""
    python = "" if all(isinstance(call.function, str) for call in node.calls) else "Python"
    return f"{python}{name}({by}{window}select=[{_calls(node)}])"


def _aggregate(node: rel.Aggregate) -> str:
    text = _grouped(node, "GroupTableAggregate" if node.flat else "GroupAggregate")
    return _with_state_ttl(text, "" if node.state_ttl is None else f"[{node.state_ttl}]")


def _with_state_ttl(text: str, options: str) -> str:
    """Return the text of a node with the options of its hint STATE_TTL, empty if it has none."""
    return f"{text[:-1]}, stateTtlHints=[[[STATE_TTL options:{options}]]])" if options else text


def _window_text(window: rel.Window, names: list[str]) -> str:
    step = f", step=[{window.step} ms]" if window.step else ""
    return f"{window.kind}(time_col=[{names[window.time]}], size=[{window.size} ms]{step})"


def _window_aggregate(node: rel.WindowAggregate) -> str:
    names = node.input.row_type.names
    if node.window is None:
        return _grouped(node, "WindowAggregate")
    name = "GroupWindowTableAggregate" if node.flat else "GroupWindowAggregate"
    return _grouped(node, name, f"window=[{_window_text(node.window, names)}], ")


def _window_table(node: rel.WindowTableFunction) -> str:
    return f"WindowTableFunction(window=[{_window_text(node.window, node.input.row_type.names)}])"


def _join_text(node: rel.Join, name: str) -> str:
    left, right = node.left.row_type.names, node.right.row_type.names
    pairs = [f"({left[a]} = {right[b]})" for a, b in zip(node.left_keys, node.right_keys, strict=True)]
    if node.condition is not None:
        pairs.append(rex_text(node.condition, [*left, *right]))
    kinds = {
        "INNER": "InnerJoin",
        "LEFT": "LeftOuterJoin",
        "RIGHT": "RightOuterJoin",
        "FULL": "FullOuterJoin",
        "SEMI": "LeftSemiJoin",
        "ANTI": "LeftAntiJoin",
    }
    build = "" if node.broadcast is None else f", isBroadcast=[true], build=[{node.broadcast}]"
    where = " AND ".join(pairs) or "true"
    return f"{name}(joinType=[{kinds[node.kind]}], where=[{where}], select=[{_names(node)}]{build})"


def _regular_join(node: rel.Join) -> str:
    pairs = zip(("LEFT", "RIGHT"), node.state_ttl, strict=True)
    ttl = ", ".join(f"{side}={ttl}" for side, ttl in pairs if ttl is not None)
    return _with_state_ttl(_join_text(node, "Join"), f"{{{ttl}}}" if ttl else "")


def _order_text(order: tuple[rel.Collation, ...], names: list[str]) -> str:
    return ", ".join(f"{names[c.index]} {'DESC' if c.descending else 'ASC'}" for c in order)


def _rank(node: rel.Rank) -> str:
    names = node.input.row_type.names
    by = ", ".join(names[i] for i in node.partition)
    order = _order_text(node.order, names)
    time = deduplicates(node)
    if time is not None and not node.outputs_rank:
        keep = "LastRow" if node.order[0].descending else "FirstRow"
        return f"Deduplicate(keep=[{keep}], key=[{by}], order=[{time}])"
    kind = "WindowRank" if node.window is not None else "Rank"
    limits = f"rankStart={node.start}, rankEnd={node.end}"
    what = f"rankType=[{node.function}], rankRange=[{limits}], partitionBy=[{by}], orderBy=[{order}]"
    return f"{kind}({what}, select=[{_names(node)}])"


def _sort(node: rel.Sort) -> str:
    order = _order_text(node.collations, node.row_type.names)
    if node.fetch is None and not node.offset:
        return f"Sort(orderBy=[{order}])"
    name = "SortLimit" if node.collations else "Limit"
    by = f"orderBy=[{order}], " if node.collations else ""
    return f"{name}({by}offset=[{node.offset}], fetch=[{node.fetch if node.fetch is not None else 'unlimited'}])"


def _over(node: rel.Over) -> str:
    names = node.input.row_type.names
    group = node.groups[0]
    by = f"partitionBy=[{', '.join(names[i] for i in group.partition)}], " if group.partition else ""
    return f"OverAggregate({by}orderBy=[{_order_text(group.order, names)}], select=[{_names(node)}])"


def _correlate(node: rel.Correlate) -> str:
    name = node.function if isinstance(node.function, str) else node.function.name
    arguments = ", ".join(rex_text(o, node.input.row_type.names) for o in node.operands)
    python = "" if isinstance(node.function, str) else "Python"
    kind = "LEFT" if node.outer else "INNER"
    return f"{python}Correlate(invocation=[{name}({arguments})], select=[{_names(node)}], joinType=[{kind}])"


def _watermark(node: rel.AssignWatermark) -> str:
    names = node.input.row_type.names
    return f"WatermarkAssigner(rowtime=[{names[node.column]}], watermark=[{rex_text(node.expression, names)}])"


def _values(node: rel.Values) -> str:
    return f"Values(tuples=[{len(node.rows)} rows], fields=[{_names(node)}])"


_RULES = for_each_node(
    "how EXPLAIN shows it",
    [
        case(rel.TableScan, _scan),
        case(rel.StreamScan, _stream_scan),
        case(rel.Values, _values),
        case(rel.AssignWatermark, _watermark),
        case(rel.Project, _project),
        case(rel.Filter, _filter),
        case(rel.Aggregate, _aggregate),
        case(rel.WindowAggregate, _window_aggregate),
        case(rel.WindowTableFunction, _window_table),
        case(rel.Join, _regular_join),
        case(rel.IntervalJoin, lambda node: _join_text(node.join, "IntervalJoin")),
        case(rel.TemporalJoin, lambda node: _join_text(node.join, "TemporalJoin")),
        case(rel.WindowJoin, lambda node: _join_text(node.join, "WindowJoin")),
        case(rel.LookupJoin, lambda node: f"LookupJoin(table=[{'.'.join(node.table.path)}], select=[{_names(node)}])"),
        case(rel.Rank, _rank),
        case(rel.Sort, _sort),
        case(rel.Over, _over),
        case(rel.Correlate, _correlate),
        case(rel.Union, lambda node: f"Union(all=[true], union=[{_names(node)}])"),
        case(
            rel.SetOperation,
            lambda node: f"{node.kind.title()}(all=[{str(node.all).lower()}], select=[{_names(node)}])",
        ),
        case(rel.Expand, lambda node: f"Expand(projects=[{len(node.sets)} sets], fields=[{_names(node)}])"),
        case(rel.Match, lambda node: f"Match(select=[{_names(node)}])"),
    ],
)
