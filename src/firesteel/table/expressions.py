"""Entry points of the Table API's expressions (module as `pyflink.table.expressions`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.errors import ValidationException
from firesteel.table.expression import Expression, JsonOnNull, TimePointUnit
from firesteel.table.expression_base import node_of, operand_nodes
from firesteel.table.expression_json import json_option
from firesteel.table.planner.parser import parse_expression
from firesteel.table.unresolved import CURRENT, UNBOUNDED, Apply, Lit, Ref, TypeName

if TYPE_CHECKING:
    from firesteel.table.types import DataType

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "negative",
    "not_",
    "null_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_columns",
    "without_columns",
]


def _call(function: Any, *operands: Any) -> Expression[Any]:
    return Expression(Apply(function, operand_nodes(operands)))


def col(name: str) -> Expression[Any]:
    """Return a column by its name.

    Example:
        >>> str(col("amount") * 2 + lit(1))
        'amount * 2 + 1'
    """
    return Expression(Ref((name,)))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """Return a constant.

    Args:
        v: A Python value.
        data_type: The type of the constant; by default derived from the value.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> table = table_env.from_elements([(1,)], ["n"]).select((col("n") + lit(2)).alias("sum"))
        >>> _ = table_env.to_data_stream(table).collect_async()
        >>> run_local(env).elements
        [Row(sum=3)]
    """
    return Expression(Lit(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return a range of columns by name or position (from 1), for `with_columns`."""
    return Expression(Apply("RANGE", (_column_or_index(start), _column_or_index(end))))


def _column_or_index(value: Any) -> Any:
    return Ref((value,)) if isinstance(value, str) else node_of(value)


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return the columns given by name, position or range.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36, "Berlin")], ["name", "age", "city"])
        >>> people.select(with_columns(range_("name", "age"))).get_schema().get_field_names()
        ['name', 'age']
    """
    return Expression(Apply("WITH_COLUMNS", tuple(_column_or_index(item) for item in (head, *tails))))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return all columns except those given by name, position or range.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36, "Berlin")], ["name", "age", "city"])
        >>> people.select(without_columns(col("age"))).get_schema().get_field_names()
        ['name', 'city']
    """
    return Expression(Apply("WITHOUT_COLUMNS", tuple(_column_or_index(item) for item in (head, *tails))))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Return the conjunction of conditions."""
    return _chain("AND", (predicate0, predicate1, *predicates))


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Return the disjunction of conditions."""
    return _chain("OR", (predicate0, predicate1, *predicates))


def _chain(function: str, operands: tuple[Any, ...]) -> Expression[Any]:
    result = node_of(operands[0])
    for operand in operands[1:]:
        result = Apply(function, (result, node_of(operand)))
    return Expression(result)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Return the negation of a condition."""
    return _call("NOT", expression)


def current_database() -> Expression[Any]:
    """Return the name of the current database."""
    return _call("CURRENT_DATABASE")


def current_date() -> Expression[Any]:
    """Return the current date in the session's time zone."""
    return _call("CURRENT_DATE")


def current_time() -> Expression[Any]:
    """Return the current time in the session's time zone."""
    return _call("CURRENT_TIME")


def current_timestamp() -> Expression[Any]:
    """Return the current TIMESTAMP_LTZ."""
    return _call("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Return the current watermark of a rowtime attribute, NULL if there is none yet."""
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the current TIME in the session's time zone."""
    return _call("LOCALTIME")


def local_timestamp() -> Expression[Any]:
    """Return the current TIMESTAMP in the session's time zone."""
    return _call("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """Parse a string as DATE; `format` is a Java date pattern, by default `yyyy-MM-dd`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("2026-05-01",)], ["text"])
        >>> _ = table_env.to_data_stream(texts.select(to_date(col("text")).alias("day"))).collect_async()
        >>> run_local(env).elements
        [Row(day=datetime.date(2026, 5, 1))]
    """
    return _call("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """Parse a string as TIMESTAMP; `format` is a Java date pattern, by default `yyyy-MM-dd HH:mm:ss`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("01.05.2026 12:30",)], ["text"])
        >>> times = texts.select(to_timestamp(col("text"), "dd.MM.yyyy HH:mm").alias("ts"))
        >>> _ = table_env.to_data_stream(times).collect_async()
        >>> run_local(env).elements
        [Row(ts=datetime.datetime(2026, 5, 1, 12, 30))]
    """
    return _call("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Convert a number of seconds or milliseconds, or a string, to TIMESTAMP_LTZ."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Return whether two periods overlap.

    Args:
        left_time_point: The start of the first period.
        left_temporal: Its end, or its length as an interval.
        right_time_point: The start of the second period.
        right_temporal: Its end, or its length as an interval.
    """
    return _call("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    """Format a timestamp by a Java date pattern.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("2026-05-01 12:30:00",)], ["text"])
        >>> days = texts.select(date_format(to_timestamp(col("text")), "dd.MM.yyyy").alias("day"))
        >>> _ = table_env.to_data_stream(days).collect_async()
        >>> run_local(env).elements
        [Row(day='01.05.2026')]
    """
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[Any]:
    """Return the number of whole units between two points in time.

    Args:
        time_point_unit: The unit.
        time_point1: The earlier time for a positive result.
        time_point2: The later one.

    Example:
        >>> from firesteel.table.expression import TimePointUnit
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("2026-05-01 00:00:00", "2026-05-03 12:00:00")], ["a", "b"])
        >>> days = timestamp_diff(TimePointUnit.DAY, to_timestamp(col("a")), to_timestamp(col("b")))
        >>> _ = table_env.to_data_stream(texts.select(days.alias("days"))).collect_async()
        >>> run_local(env).elements
        [Row(days=2)]
    """
    return _call("TIMESTAMPDIFF", time_point_unit.name, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[Any]:
    """Convert a local time from one time zone to another.

    Args:
        date_str: The time as a string `yyyy-MM-dd HH:mm:ss`.
        tz_from: Its time zone, such as `America/Los_Angeles` or `GMT+03:00`.
        tz_to: The time zone of the result, a string of the same format.
    """
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    """Format a number of seconds since the epoch, in the session's time zone."""
    return _call("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[Any]:
    """Return the seconds since the epoch of a string in the session's time zone, or of the current time."""
    return _call("UNIX_TIMESTAMP", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """Return an array of values.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> points = table_env.from_elements([(1, 2)], ["x", "y"]).select(array(col("x"), col("y")).alias("both"))
        >>> _ = table_env.to_data_stream(points).collect_async()
        >>> run_local(env).elements
        [Row(both=[1, 2])]
    """
    return Expression(Apply("ARRAY", tuple(map(node_of, (head, *tail)))))


def row(head: Any, *tail: Any) -> Expression[Any]:
    """Return a row of values.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> points = table_env.from_elements([(1, 2)], ["x", "y"]).select(row(col("x"), col("y")).alias("point"))
        >>> points.get_schema().get_field_names()
        ['point']
    """
    return Expression(Apply("ROW", tuple(map(node_of, (head, *tail)))))


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Return a map of alternating keys and values.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> points = table_env.from_elements([(1, 2)], ["x", "y"])
        >>> both = points.select(map_("x", col("x"), "y", col("y")).alias("both"))
        >>> _ = table_env.to_data_stream(both).collect_async()
        >>> run_local(env).elements
        [Row(both={'x': 1, 'y': 2})]
    """
    return Expression(Apply("MAP", tuple(map(node_of, (key, value, *tail)))))


def row_interval(rows: int) -> Expression[Any]:
    """Return a number of rows, as the size of a window."""
    return Expression(Apply("ROWS", (Lit(rows),)))


def pi() -> Expression[float]:
    """Return pi."""
    return _call("PI")


def e() -> Expression[float]:
    """Return Euler's number."""
    return _call("E")


def rand(seed: Any = None) -> Expression[float]:
    """Return a random number in [0, 1)."""
    return _call("RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[Any]:
    """Return a random integer in [0, bound)."""
    return _call("RAND_INTEGER", bound) if seed is None else _call("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Expression[float]:
    """Return the angle of the point (x, y) in radians."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression[Any]:
    """Return the negated number."""
    return _call("NEGATE", v)


def concat(first: Any, *others: Any) -> Expression[str]:
    """Concatenate strings; the result is NULL if any of them is NULL."""
    return Expression(Apply("CONCAT", tuple(map(node_of, (first, *others)))))


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Concatenate strings with a separator; NULL strings are skipped.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", "Smith")], ["first", "last"])
        >>> names = people.select(concat_ws(", ", col("last"), col("first")).alias("name"))
        >>> _ = table_env.to_data_stream(names).collect_async()
        >>> run_local(env).elements
        [Row(name='Smith, Ann')]
    """
    return Expression(Apply("CONCAT_WS", tuple(map(node_of, (separator, first, *others)))))


def uuid() -> Expression[str]:
    """Return a random UUID."""
    return _call("UUID")


def null_of(data_type: DataType) -> Expression[Any]:
    """Return a NULL of a type.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> table = table_env.from_elements([(1,)], ["n"]).select(null_of(DataTypes.STRING()).alias("nothing"))
        >>> _ = table_env.to_data_stream(table).collect_async()
        >>> run_local(env).elements
        [Row(nothing=None)]
    """
    return Expression(Apply("CAST", (Lit(None), TypeName(data_type))))


def log(v: Any, base: Any = None) -> Expression[float]:
    """Return the logarithm to a base, by default the natural logarithm."""
    return _call("LOG", v) if base is None else _call("LOG", base, v)


def source_watermark() -> Expression[Any]:
    """Use the watermarks of the source, in a watermark declaration."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """Return `if_true` if the condition is TRUE, else `if_false`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(5,), (20,)], ["n"])
        >>> size = numbers.select(if_then_else(col("n") > 10, "large", "small").alias("size"))
        >>> _ = table_env.to_data_stream(size).collect_async()
        >>> run_local(env).elements
        [Row(size='small'), Row(size='large')]
    """
    return Expression(Apply("CASE", tuple(map(node_of, (condition, if_true, if_false)))))


def json(value: Any) -> Expression[Any]:
    """Treat a string as JSON within `json_object` and `json_array`."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """Serialize a value as JSON."""
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """Return a JSON object of alternating keys and values.

    Example:
        >>> from firesteel.table.expression import JsonOnNull
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36)], ["name", "age"])
        >>> text = json_object(JsonOnNull.NULL, "name", col("name"), "age", col("age"))
        >>> _ = table_env.to_data_stream(people.select(text.alias("json"))).collect_async()
        >>> run_local(env).elements
        [Row(json='{"age":36,"name":"Ann"}')]
    """
    return _json("JSON_OBJECT", args, on_null)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    """Return a JSON array of values."""
    return _json("JSON_ARRAY", args, on_null)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[Any]:
    """Return a JSON object of the keys and values of a group's rows.

    Args:
        on_null: Whether a NULL value becomes `null` or leaves out its key.
        key_expr: The key, a string that is not NULL.
        value_expr: The value.
    """
    return _json("JSON_OBJECTAGG", (key_expr, value_expr), on_null)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """Return a JSON array of the values of a group's rows.

    Args:
        on_null: Whether a NULL value becomes `null` or is left out.
        item_expr: The value.
    """
    return _json("JSON_ARRAYAGG", (item_expr,), on_null)


def _json(function: str, operands: tuple[Any, ...], on_null: JsonOnNull) -> Expression[Any]:
    option = json_option("ON NULL", Lit(on_null.name))
    return Expression(Apply(function, (*map(node_of, operands), option)))


def call(f: Any, *args: Any) -> Expression[Any]:
    """Call a function by its path in the catalog, or a user-defined function.

    Args:
        f: The name or path of a registered function, or a function made by `udf`, `udtf` or `udaf`.
        args: The arguments.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> table_env.create_temporary_function("shout", udf(lambda text: text.upper() + "!", result_type="STRING"))
        >>> words = table_env.from_elements([("to",)], ["word"])
        >>> _ = table_env.to_data_stream(words.select(call("shout", col("word")).alias("loud"))).collect_async()
        >>> run_local(env).elements
        [Row(loud='TO!')]
    """
    if isinstance(f, str):
        return Expression(Apply(f, tuple(map(node_of, args))))
    return f(*args)  # type: ignore[no-any-return]


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return an expression written in SQL.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(7,)], ["n"])
        >>> _ = table_env.to_data_stream(numbers.select(call_sql("MOD(n, 4)").alias("rest"))).collect_async()
        >>> run_local(env).elements
        [Row(rest=3)]
    """
    return Expression(parse_expression(sql_expression))


def descriptor(*column_names: str) -> Expression[Any]:
    """Return a list of column names as an argument of a function."""
    if not column_names:
        raise ValidationException("descriptor needs at least one column name")
    return Expression(Apply("DESCRIPTOR", tuple(map(Lit, column_names))))


UNBOUNDED_ROW: Expression[Any] = Expression(Lit((UNBOUNDED, "ROWS")))
UNBOUNDED_RANGE: Expression[Any] = Expression(Lit((UNBOUNDED, "RANGE")))
CURRENT_ROW: Expression[Any] = Expression(Lit((CURRENT, "ROWS")))
CURRENT_RANGE: Expression[Any] = Expression(Lit((CURRENT, "RANGE")))
