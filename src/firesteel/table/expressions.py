"""Entry points of the Table API's expressions (module as `pyflink.table.expressions`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.columns.rex import UserFunction
from firesteel.common.table_errors import ValidationException
from firesteel.table.expression import Expression, JsonOnNull, SqlExpression, TimePointUnit
from firesteel.table.expression_functions.expression_base import node_of, operand_nodes
from firesteel.table.expression_functions.expression_json import json_option
from firesteel.table.planner.parse.parser import parse_expression
from firesteel.table.syntax.unresolved import CURRENT, UNBOUNDED, Apply, Lit, Ref, Star, TypeName

if TYPE_CHECKING:
    from firesteel.table.syntax.unresolved import Unresolved
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
    "coalesce",
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
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
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
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _call(function: str | UserFunction, *operands: object) -> Expression[Any]:
    return Expression(Apply(function, operand_nodes(operands)))


def col(name: str) -> Expression[Any]:
    """Return a column by its name.

    Args:
        name: Name of the column, case-sensitive; it is looked up when a table uses the expression.

    Example:
        >>> str(col("amount") * 2 + lit(1))
        'plus(times(amount, 2), 1)'
    """
    return Expression(Ref((name,)))


def lit(v: object, data_type: DataType | None = None) -> Expression[Any]:
    """Return a constant.

    Args:
        v: A Python value.
        data_type: The type of the constant; by default derived from the value.

    Raises:
        ValidationException: the value is None and has no type.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> table = table_env.from_elements([(1,)], ["n"]).select((col("n") + lit(2)).alias("sum"))
        >>> _ = table_env.to_data_stream(table).collect_async()
        >>> run_local(env).elements
        [Row(sum=3)]
    """
    if v is None and data_type is None:
        raise ValidationException(
            "Cannot derive a data type for value 'null'. The data type must be specified explicitly."
        )
    return Expression(Lit(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return a range of columns, for `with_columns` and `without_columns`.

    Args:
        start: First column, by name or by position from 1.
        end: Last column, inclusive, by name or by position from 1; not before `start`.
    """
    return Expression(Apply("RANGE", (_column_or_index(start), _column_or_index(end))))


def _column_or_index(value: object) -> Unresolved:
    return Ref((value,)) if isinstance(value, str) else node_of(value)


def with_all_columns() -> Expression[Any]:
    """Select all columns, as `*` does.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36)], ["name", "age"])
        >>> people.select(with_all_columns(), col("age").alias("again")).get_schema().get_field_names()
        ['name', 'age', 'again']
    """
    return Expression(Star())


def coalesce(*args: object) -> Expression[Any]:
    """Return the first value that is not NULL, or NULL.

    Args:
        args: The values, at least one, of a common type.

    Example:
        >>> str(coalesce(col("nick"), col("name")))
        'COALESCE(nick, name)'
    """
    return _call("COALESCE", *args)


def lag(expression: object, offset: int | None = None, default: object = None) -> Expression[Any]:
    """Return the value of an earlier row of the window (LAG); used with `over`.

    Args:
        expression: The value.
        offset: Number of rows, at least 0; by default 1.
        default: The value where there is no such row; by default NULL.
    """
    return _neighbour("LAG", expression, offset, default)


def lead(expression: object, offset: int | None = None, default: object = None) -> Expression[Any]:
    """Return the value of a later row of the window (LEAD); used with `over`, in BATCH mode.

    Args:
        expression: The value.
        offset: Number of rows, at least 0; by default 1.
        default: The value where there is no such row; by default NULL.
    """
    return _neighbour("LEAD", expression, offset, default)


def _neighbour(function: str, expression: object, offset: int | None, default: object) -> Expression[Any]:
    if default is not None:
        return _call(function, expression, 1 if offset is None else offset, default)
    return _call(function, expression) if offset is None else _call(function, expression, offset)


def map_from_arrays(key: object, value: object) -> Expression[Any]:
    """Return a map of keys and values (MAP_FROM_ARRAYS).

    Args:
        key: An array of keys.
        value: An array of values, as long as the other.
    """
    return _call("MAP_FROM_ARRAYS", key, value)


def with_columns(head: object, *tails: object) -> Expression[Any]:
    """Select columns.

    Args:
        head: A column, by name or by position from 1, or a `range_`.
        tails: Further columns or ranges.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36, "Berlin")], ["name", "age", "city"])
        >>> people.select(with_columns(range_("name", "age"))).get_schema().get_field_names()
        ['name', 'age']
    """
    return Expression(Apply("WITH_COLUMNS", tuple(_column_or_index(item) for item in (head, *tails))))


def without_columns(head: object, *tails: object) -> Expression[Any]:
    """Select all columns except some.

    Args:
        head: A column, by name or by position from 1, or a `range_`.
        tails: Further columns or ranges.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> people = table_env.from_elements([("Ann", 36, "Berlin")], ["name", "age", "city"])
        >>> people.select(without_columns(col("age"))).get_schema().get_field_names()
        ['name', 'city']
    """
    return Expression(Apply("WITHOUT_COLUMNS", tuple(_column_or_index(item) for item in (head, *tails))))


def and_(predicate0: object, predicate1: object, *predicates: object) -> Expression[bool]:
    """Return whether all conditions are true, by three-valued logic.

    Args:
        predicate0: The first condition.
        predicate1: The second condition.
        predicates: Further conditions.
    """
    return _call("AND", predicate0, predicate1, *predicates)


def or_(predicate0: object, predicate1: object, *predicates: object) -> Expression[bool]:
    """Return whether at least one condition is true, by three-valued logic.

    Args:
        predicate0: The first condition.
        predicate1: The second condition.
        predicates: Further conditions.
    """
    return _call("OR", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Return the negation of a condition.

    Args:
        expression: The condition; NULL stays NULL.
    """
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


def current_watermark(rowtimeAttribute: object) -> Expression[Any]:
    """Return the current watermark.

    Args:
        rowtimeAttribute: A rowtime attribute of the table.

    Returns:
        NULL before the first watermark.
    """
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the current TIME in the session's time zone."""
    return _call("LOCALTIME")


def local_timestamp() -> Expression[Any]:
    """Return the current TIMESTAMP in the session's time zone."""
    return _call("LOCALTIMESTAMP")


def to_date(date_str: object, format: object = None) -> Expression[Any]:
    """Parse a string as DATE.

    Args:
        date_str: The string; the result is NULL if it does not fit the format.
        format: A Java date pattern; None means `yyyy-MM-dd`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("2026-05-01",)], ["text"])
        >>> _ = table_env.to_data_stream(texts.select(to_date(col("text")).alias("day"))).collect_async()
        >>> run_local(env).elements
        [Row(day=datetime.date(2026, 5, 1))]
    """
    return _call("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: object, format: object = None) -> Expression[Any]:
    """Parse a string as TIMESTAMP(3).

    Args:
        timestamp_str: The string, without time zone; the result is NULL if it does not fit the format.
        format: A Java date pattern; None means `yyyy-MM-dd HH:mm:ss`, with optional fractional seconds.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("01.05.2026 12:30",)], ["text"])
        >>> times = texts.select(to_timestamp(col("text"), "dd.MM.yyyy HH:mm").alias("ts"))
        >>> _ = table_env.to_data_stream(times).collect_async()
        >>> run_local(env).elements
        [Row(ts=datetime.datetime(2026, 5, 1, 12, 30))]
    """
    return _call("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: object) -> Expression[Any]:
    """Convert a number or a string to TIMESTAMP_LTZ(3).

    Args:
        args: A number since the epoch and its precision, 0 for s or 3 for ms (the default); or a string, its format and
            time zone (UTC by default).
    """
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: object, left_temporal: object, right_time_point: object, right_temporal: object
) -> Expression[Any]:
    """Return whether two periods overlap.

    Args:
        left_time_point: The start of the first period.
        left_temporal: Its end, or its length as an interval.
        right_time_point: The start of the second period.
        right_temporal: Its end, or its length as an interval.
    """
    return _call("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: object, format: object) -> Expression[Any]:
    """Format a timestamp.

    Args:
        timestamp: A timestamp, or a string `yyyy-MM-dd HH:mm:ss`; the result is NULL for other strings.
        format: A Java date pattern.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> texts = table_env.from_elements([("2026-05-01 12:30:00",)], ["text"])
        >>> days = texts.select(date_format(to_timestamp(col("text")), "dd.MM.yyyy").alias("day"))
        >>> _ = table_env.to_data_stream(days).collect_async()
        >>> run_local(env).elements
        [Row(day='01.05.2026')]
    """
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: object, time_point2: object) -> Expression[Any]:
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


def convert_tz(date_str: object, tz_from: object, tz_to: object) -> Expression[Any]:
    """Convert a local time from one time zone to another.

    Args:
        date_str: The time as a string `yyyy-MM-dd HH:mm:ss`.
        tz_from: Its time zone, such as `America/Los_Angeles` or `GMT+03:00`.
        tz_to: The time zone of the result, a string of the same format.
    """
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: object, format: object = None) -> Expression[Any]:
    """Format a number of seconds since the epoch, in the session's time zone.

    Args:
        unixtime: Seconds since the epoch.
        format: A Java date pattern; None means `yyyy-MM-dd HH:mm:ss`.
    """
    return _call("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: object = None, format: object = None) -> Expression[Any]:
    """Return a number of seconds since the epoch.

    Args:
        date_str: A time in the session's time zone; None returns the current time.
        format: A Java date pattern; None means `yyyy-MM-dd HH:mm:ss`.

    Returns:
        -9223372036854775808 if the string does not fit the format.
    """
    return _call("UNIX_TIMESTAMP", date_str, format)


def array(head: object, *tail: object) -> Expression[Any]:
    """Return an array of values.

    Args:
        head: The first element.
        tail: Further elements; all elements need a common type.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> points = table_env.from_elements([(1, 2)], ["x", "y"]).select(array(col("x"), col("y")).alias("both"))
        >>> _ = table_env.to_data_stream(points).collect_async()
        >>> run_local(env).elements
        [Row(both=[1, 2])]
    """
    return Expression(Apply("ARRAY", tuple(map(node_of, (head, *tail)))))


def row(head: object, *tail: object) -> Expression[Any]:
    """Return a row of values.

    Args:
        head: The first field.
        tail: Further fields, of any types.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> points = table_env.from_elements([(1, 2)], ["x", "y"]).select(row(col("x"), col("y")).alias("point"))
        >>> points.get_schema().get_field_names()
        ['point']
    """
    return Expression(Apply("ROW", tuple(map(node_of, (head, *tail)))))


def map_(key: object, value: object, *tail: object) -> Expression[Any]:
    """Return a map of alternating keys and values.

    Args:
        key: Key of the first entry; NULL is not supported.
        value: Value of the first entry.
        tail: Keys and values in turn. All keys need a common type, and so do all values; the last value of a key
            counts.

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
    """Return a number of rows, as the size or slide of a window.

    Args:
        rows: Number of rows.
    """
    return Expression(Apply("ROWS", (Lit(rows),)))


def pi() -> Expression[float]:
    """Return pi."""
    return _call("PI")


def e() -> Expression[float]:
    """Return Euler's number."""
    return _call("E")


def rand(seed: object = None) -> Expression[float]:
    """Return a random number from 0 (inclusive) to 1 (exclusive).

    Args:
        seed: An integer that makes the sequence of each subtask repeatable; None for none.
    """
    return _call("RAND", seed)


def rand_integer(bound: object, seed: object = None) -> Expression[Any]:
    """Return a random integer from 0 (inclusive) to a bound (exclusive).

    Args:
        bound: The bound, greater than 0.
        seed: An integer that makes the sequence of each subtask repeatable; None for none.
    """
    return _call("RAND_INTEGER", bound) if seed is None else _call("RAND_INTEGER", seed, bound)


def atan2(y: object, x: object) -> Expression[float]:
    """Return the angle of a point in radians, from -pi to pi.

    Args:
        y: Its second coordinate.
        x: Its first coordinate.
    """
    return _call("ATAN2", y, x)


def negative(v: object) -> Expression[Any]:
    """Return a number with the opposite sign.

    Args:
        v: A number or an interval.
    """
    return _call("NEGATE", v)


def concat(first: object, *others: object) -> Expression[str]:
    """Concatenate strings.

    Args:
        first: The first string.
        others: Further strings; if one of them is NULL, so is the result.
    """
    return Expression(Apply("CONCAT", tuple(map(node_of, (first, *others)))))


def concat_ws(separator: object, first: object, *others: object) -> Expression[str]:
    """Concatenate strings with a separator.

    Args:
        separator: String between two strings; if it is NULL, so is the result.
        first: The first string.
        others: Further strings; NULL strings are skipped.

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

    Args:
        data_type: The type of the NULL.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> table = table_env.from_elements([(1,)], ["n"]).select(null_of(DataTypes.STRING()).alias("nothing"))
        >>> _ = table_env.to_data_stream(table).collect_async()
        >>> run_local(env).elements
        [Row(nothing=None)]
    """
    return Expression(Apply("CAST", (Lit(None), TypeName(data_type))))


def log(v: object, base: object = None) -> Expression[float]:
    """Return a logarithm.

    Args:
        v: The number.
        base: Base of the logarithm; None returns the natural logarithm.
    """
    return _call("LOG", v) if base is None else _call("LOG", base, v)


def source_watermark() -> Expression[Any]:
    """Use the watermarks of the source, in a watermark declaration."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: object, if_true: object, if_false: object) -> Expression[Any]:
    """Return one of two values, depending on a condition.

    Args:
        condition: A boolean expression.
        if_true: The value if the condition is TRUE.
        if_false: The value if it is FALSE or NULL.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(5,), (20,)], ["n"])
        >>> size = numbers.select(if_then_else(col("n") > 10, "large", "small").alias("size"))
        >>> _ = table_env.to_data_stream(size).collect_async()
        >>> run_local(env).elements
        [Row(size='small'), Row(size='large')]
    """
    return Expression(Apply("CASE", tuple(map(node_of, (condition, if_true, if_false)))))


def json(value: object) -> Expression[Any]:
    """Insert a string as JSON into `json_object` or `json_array`.

    Args:
        value: JSON text; other text fails the job.
    """
    return _call("JSON", value)


def json_string(value: object) -> Expression[Any]:
    """Return a value as JSON text; NULL stays NULL.

    Args:
        value: A value of any type.
    """
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: object) -> Expression[Any]:
    """Return a JSON object.

    Args:
        on_null: Whether a NULL value becomes `null` or leaves out its key.
        args: Keys and values in turn; keys are strings.

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


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: object) -> Expression[Any]:
    """Return a JSON array.

    Args:
        on_null: Whether a NULL value becomes `null` or is left out.
        args: The elements, of any types.
    """
    return _json("JSON_ARRAY", args, on_null)


def json_object_agg(on_null: JsonOnNull, key_expr: object, value_expr: object) -> Expression[Any]:
    """Return a JSON object of the keys and values of a group's rows.

    Args:
        on_null: Whether a NULL value becomes `null` or leaves out its key.
        key_expr: The key, a string that is not NULL.
        value_expr: The value.
    """
    return _json("JSON_OBJECTAGG", (key_expr, value_expr), on_null)


def json_array_agg(on_null: JsonOnNull, item_expr: object) -> Expression[Any]:
    """Return a JSON array of the values of a group's rows.

    Args:
        on_null: Whether a NULL value becomes `null` or is left out.
        item_expr: The value.
    """
    return _json("JSON_ARRAYAGG", (item_expr,), on_null)


def _json(function: str, operands: tuple[Any, ...], on_null: JsonOnNull) -> Expression[Any]:
    option = json_option("ON NULL", Lit(on_null.name))
    return Expression(Apply(function, (*map(node_of, operands), option)))


def call(f: Any, *args: object) -> Expression[Any]:
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
        return Expression(Apply(f, tuple(map(node_of, args)), named=True))
    made: Expression[Any] = f(*args)
    return made


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return an expression written in SQL.

    Args:
        sql_expression: An expression such as `UPPER(name)`; its names are looked up when a table uses it.

    Raises:
        SqlParserError: the text is not an SQL expression.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(7,)], ["n"])
        >>> _ = table_env.to_data_stream(numbers.select(call_sql("MOD(n, 4)").alias("rest"))).collect_async()
        >>> run_local(env).elements
        [Row(rest=3)]
    """
    return SqlExpression(parse_expression(sql_expression), sql_expression)


def object_of(class_name: object, *args: object) -> Expression[Any]:
    """Return a call of OBJECT_OF, which is not supported: tables reject it.

    Args:
        class_name: The name of a class in Java.
        args: Alternating names and values of fields.
    """
    return Expression(Apply("OBJECT_OF", tuple(map(node_of, (class_name, *args)))))


def descriptor(*column_names: str) -> Expression[Any]:
    """Return a list of column names as an argument of a function.

    Args:
        column_names: At least one name.

    Raises:
        ValidationException: no name is given.
    """
    if not column_names:
        raise ValidationException("descriptor needs at least one column name")
    return Expression(Apply("DESCRIPTOR", tuple(map(Lit, column_names))))


UNBOUNDED_ROW: Expression[Any] = Expression(Lit((UNBOUNDED, "ROWS")))
UNBOUNDED_RANGE: Expression[Any] = Expression(Lit((UNBOUNDED, "RANGE")))
CURRENT_ROW: Expression[Any] = Expression(Lit((CURRENT, "ROWS")))
CURRENT_RANGE: Expression[Any] = Expression(Lit((CURRENT, "RANGE")))
