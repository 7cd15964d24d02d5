"""Parser of SQL types. Flink: `LogicalTypeParser`, and the type rules of its SQL parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NoReturn

from firesteel.columns import column_types as t
from firesteel.columns.type_families import DAY_TIME, YEAR_MONTH
from firesteel.common.meant import meant
from firesteel.errors import FiresteelError

_TOKEN = re.compile(r"\s*(?:(\d+)|(`(?:[^`]|``)*`)|('(?:[^']|'')*')|([^\W\d]\w*)|([<>(),]))")
_DayTime = t.DayTimeIntervalType.DayTimeResolution
_YearMonth = t.YearMonthIntervalType.YearMonthResolution


class TypeTextError(FiresteelError, ValueError):
    """A text that is not a type."""


def parse_type(text: str, in_statement: bool = False) -> t.DataType:
    """Parse an SQL type.

    Args:
        text: Such as `ROW<id BIGINT, name STRING> NOT NULL`.
        in_statement: Whether the text is part of a statement. There, VARCHAR and VARBINARY without a length are as long
            as can be, and intervals have the resolution MONTH or SECOND(3); elsewhere, the length is 1 (Flink:
            `FlinkTypeSystem` and `FlinkTypeFactory`, as opposed to `LogicalTypeParser`).

    Raises:
        TypeTextError: The text is not a type; the message says what was found, and where.
    """
    return _Parser(text, in_statement).parse()


class _Parser:
    def __init__(self, text: str, in_statement: bool) -> None:
        self._text = text
        self._in_statement = in_statement
        self._tokens: list[tuple[str, str, int]] = []
        self._next = 0
        self._tokenize()

    def _tokenize(self) -> None:
        position, end = 0, len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise TypeTextError(f"Could not parse type at position {position}: {self._text!r}")
            group = match.lastindex
            assert group is not None
            kind = ("number", "quoted", "string", "word", "sign")[group - 1]
            self._tokens.append((kind, match.group(group), match.start(group)))
            position = match.end()

    def parse(self) -> t.DataType:
        result = self._type()
        if self._next < len(self._tokens):
            self._fail("end of text")
        return result

    def _fail(self, expected: str, names: Iterable[str] = ()) -> NoReturn:
        if self._next < len(self._tokens):
            _, found, position = self._tokens[self._next]
        else:
            found, position = "end of text", len(self._text)
        hint = meant(found.upper(), names)
        raise TypeTextError(
            f"Could not parse type at position {position}: expected {expected}, found {found!r}{hint}\n"
            f" Input: {self._text}"
        )

    def _peek(self, offset: int = 0) -> str:
        """Return the next keyword or sign in upper case, or an empty string for any other token."""
        if self._next + offset >= len(self._tokens):
            return ""
        kind, text, _ = self._tokens[self._next + offset]
        return text.upper() if kind in ("word", "sign") else ""

    def _accept(self, *words: str) -> bool:
        """Consume these tokens and return True if they come next."""
        if any(self._peek(index) != word for index, word in enumerate(words)):
            return False
        self._next += len(words)
        return True

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            self._fail(sign)

    def _number(self) -> int:
        if self._next >= len(self._tokens) or self._tokens[self._next][0] != "number":
            self._fail("a number")
        self._next += 1
        return int(self._tokens[self._next - 1][1])

    def optional_number(self, default: int) -> int:
        if not self._accept("("):
            return default
        number = self._number()
        self._expect(")")
        return number

    def _type(self) -> t.DataType:
        name = self._peek()
        parse = _TYPES.get(name)
        if parse is None:
            self._fail("a type", _TYPES)
        self._next += 1
        try:
            result = self._nullability(parse(self))
        except TypeTextError:
            raise
        except ValueError as error:
            raise TypeTextError(f"{error} in {self._text!r}") from error
        while self._peek() in ("ARRAY", "MULTISET"):
            wrapper = t.ArrayType if self._peek() == "ARRAY" else t.MultisetType
            self._next += 1
            result = self._nullability(wrapper(result))
        return result

    def _nullability(self, data_type: t.DataType) -> t.DataType:
        if self._accept("NOT", "NULL"):
            return data_type.not_null()
        self._accept("NULL")
        return data_type

    def decimal(self) -> t.DataType:
        if not self._accept("("):
            return t.DecimalType()
        precision = self._number()
        scale = self._number() if self._accept(",") else 0
        self._expect(")")
        return t.DecimalType(precision, scale)

    def double(self) -> t.DataType:
        self._accept("PRECISION")
        return t.DoubleType()

    def char(self) -> t.DataType:
        if self._accept("VARYING"):
            return self.varchar()
        return t.CharType(self.optional_number(1))

    def binary(self) -> t.DataType:
        if self._accept("VARYING"):
            return self.varbinary()
        return t.BinaryType(self.optional_number(1))

    def varchar(self) -> t.DataType:
        return t.VarCharType(self.optional_number(t.MAX_LENGTH if self._in_statement else 1))

    def varbinary(self) -> t.DataType:
        return t.VarBinaryType(self.optional_number(t.MAX_LENGTH if self._in_statement else 1))

    def time(self) -> t.DataType:
        precision = self.optional_number(0)
        self._accept("WITHOUT", "TIME", "ZONE")
        return t.TimeType(precision)

    def timestamp(self) -> t.DataType:
        precision = self.optional_number(6)
        if self._accept("WITH", "LOCAL", "TIME", "ZONE"):
            return t.LocalZonedTimestampType(precision)
        if not self._in_statement and self._accept("WITH", "TIME", "ZONE"):  # which SQL does not have
            return t.ZonedTimestampType(precision)
        self._accept("WITHOUT", "TIME", "ZONE")
        return t.TimestampType(precision)

    def element(self) -> t.DataType:
        self._expect("<")
        element = self._type()
        self._expect(">")
        return element

    def map(self) -> t.DataType:
        self._expect("<")
        key = self._type()
        self._expect(",")
        value = self._type()
        self._expect(">")
        return t.MapType(key, value)

    def row(self) -> t.DataType:
        closing = ">" if self._accept("<") else ")"
        if closing == ")":
            self._expect("(")
        fields: list[t.RowField] = []
        while not self._accept(closing):
            if fields:
                self._expect(",")
            fields.append(self._field(len(fields)))
        return t.RowType(fields)

    def _field(self, index: int) -> t.RowField:
        # A field may be named like a type, as in ROW<date DATE>: what follows tells.
        unnamed = self._peek() in _TYPES and self._peek(1) in (",", ">", ")", "(", "<", "NOT", "NULL", "ARRAY")
        name = f"f{index}" if unnamed else self._name()
        data_type = self._type()
        description = None
        if self._next < len(self._tokens) and self._tokens[self._next][0] == "string":
            description = self._tokens[self._next][1][1:-1].replace("''", "'")
            self._next += 1
        return t.RowField(name, data_type, description)

    def _name(self) -> str:
        if self._next >= len(self._tokens) or self._tokens[self._next][0] not in ("word", "quoted"):
            self._fail("the name of a field")
        kind, text, _ = self._tokens[self._next]
        self._next += 1
        return text[1:-1].replace("``", "`") if kind == "quoted" else text

    def interval(self) -> t.DataType:
        declared = self._declared_interval()
        if not self._in_statement:
            return declared
        return YEAR_MONTH if isinstance(declared, t.YearMonthIntervalType) else DAY_TIME

    def _declared_interval(self) -> t.DataType:
        first = self._peek()
        if first not in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            self._fail("the unit of an interval")
        self._next += 1
        if first == "SECOND":
            return t.DayTimeIntervalType(_DayTime.SECOND, fractional_precision=self.optional_number(6))
        leading = self.optional_number(2)
        if first in ("YEAR", "MONTH"):
            resolution = _YearMonth.YEAR_TO_MONTH if self._accept("TO", "MONTH") else getattr(_YearMonth, first)
            return t.YearMonthIntervalType(resolution, leading)
        name, fraction = first, 6
        if self._accept("TO"):
            name = f"{first}_TO_{self._peek()}"
            if name not in _DayTime.__members__:
                self._fail(f"the last unit of INTERVAL {first}")
            self._next += 1
            fraction = self.optional_number(6)
        return t.DayTimeIntervalType(getattr(_DayTime, name), leading, fraction)


def _plain(make: Callable[[], t.DataType]) -> Callable[[_Parser], t.DataType]:
    return lambda parser: make()


_TYPES: dict[str, Callable[[_Parser], t.DataType]] = {
    "NULL": _plain(t.NullType),
    "BOOLEAN": _plain(t.BooleanType),
    "VARIANT": _plain(t.VariantType),
    "TINYINT": _plain(t.TinyIntType),
    "SMALLINT": _plain(t.SmallIntType),
    "INT": _plain(t.IntType),
    "INTEGER": _plain(t.IntType),
    "BIGINT": _plain(t.BigIntType),
    "FLOAT": _plain(t.FloatType),
    "REAL": _plain(t.FloatType),
    "DOUBLE": _Parser.double,
    "DECIMAL": _Parser.decimal,
    "DEC": _Parser.decimal,
    "NUMERIC": _Parser.decimal,
    "CHAR": _Parser.char,
    "CHARACTER": _Parser.char,
    "VARCHAR": _Parser.varchar,
    "STRING": _plain(lambda: t.VarCharType(t.MAX_LENGTH)),
    "BINARY": _Parser.binary,
    "VARBINARY": _Parser.varbinary,
    "BYTES": _plain(lambda: t.VarBinaryType(t.MAX_LENGTH)),
    "DATE": _plain(t.DateType),
    "TIME": _Parser.time,
    "TIMESTAMP": _Parser.timestamp,
    "TIMESTAMP_LTZ": lambda parser: t.LocalZonedTimestampType(parser.optional_number(6)),
    "INTERVAL": _Parser.interval,
    "ARRAY": lambda parser: t.ArrayType(parser.element()),
    "MULTISET": lambda parser: t.MultisetType(parser.element()),
    "MAP": _Parser.map,
    "ROW": _Parser.row,
}
