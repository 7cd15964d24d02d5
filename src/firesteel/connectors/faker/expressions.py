"""Expressions such as `#{number.numberBetween '0','10'} items`. Java Faker: `FakeValuesService.expression`."""

from __future__ import annotations

import datetime
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from firesteel.common.table_errors import ValidationException
from firesteel.connectors.faker.names import BY_METHOD

if TYPE_CHECKING:
    from faker import Faker

Value = str | datetime.datetime

_PLACE = re.compile(r"#\{\s*([\w.]+)\s*((?:'(?:[^']|'')*'\s*,?\s*)*)\}")
_ARGUMENT = re.compile(r"'((?:[^']|'')*)'")
_UNITS = {
    "MILLISECONDS": 0.001, "SECONDS": 1, "MINUTES": 60, "HOURS": 3600, "DAYS": 86400,
}  # fmt: skip
_YEAR = datetime.timedelta(days=365.25)
_LONGEST = 9


@dataclass(frozen=True)
class Chance:
    """What expressions take their values from.

    Attributes:
        random: Random numbers.
        faker: The package faker, seeded with one of them.
    """

    random: Random
    faker: Faker


Make = Callable[[Chance, Sequence[str]], Value]


def _between(chance: Chance, arguments: Sequence[str]) -> str:
    low, high = map(int, arguments)
    return str(low if low == high else chance.random.randrange(low, high))


def _double(chance: Chance, arguments: Sequence[str]) -> str:
    digits, low, high = map(int, arguments)
    return f"{chance.random.uniform(low, high):.{digits}f}"


def _filled(text: str, chance: Chance, digits: bool, letters: bool) -> str:
    def one(character: str) -> str:
        if digits and character == "#":
            return chance.random.choice(string.digits)
        return chance.random.choice(string.ascii_lowercase) if letters and character == "?" else character

    return "".join(map(one, text))


def _regexify(chance: Chance, arguments: Sequence[str]) -> str:
    import rstr

    return str(rstr.Rstr(chance.random).xeger(arguments[0]))


def _span(arguments: Sequence[str]) -> tuple[float, float]:
    """Return the shortest and the longest distance in seconds of `most, unit` or `most, least, unit`."""
    *numbers, unit = arguments
    most, least = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0
    seconds = _UNITS[unit.upper()]
    return least * seconds, most * seconds


def _distant(sign: int) -> Make:
    def make(chance: Chance, arguments: Sequence[str]) -> Value:
        distance = datetime.timedelta(seconds=chance.random.uniform(*_span(arguments)))
        return datetime.datetime.now(datetime.UTC) + sign * distance

    return make


def _birthday(chance: Chance, arguments: Sequence[str]) -> Value:
    youngest, oldest = map(int, arguments or ("18", "65"))
    return datetime.datetime.now(datetime.UTC) - chance.random.uniform(youngest, oldest) * _YEAR


def _lorem(chance: Chance, count: int, join: str) -> str:
    return join.join(chance.faker.word() for _ in range(count))


@dataclass(frozen=True)
class _Expression:
    make: Make
    counts: tuple[int, ...]


EXPRESSIONS: dict[str, _Expression] = {
    "bool.bool": _Expression(lambda chance, _: chance.random.choice(("true", "false")), (0,)),
    "bothify": _Expression(lambda chance, a: _filled(a[0], chance, True, True), (1,)),
    "date.birthday": _Expression(_birthday, (0, 2)),
    "date.future": _Expression(_distant(1), (2, 3)),
    "date.past": _Expression(_distant(-1), (2, 3)),
    "letterify": _Expression(lambda chance, a: _filled(a[0], chance, False, True), (1,)),
    "lorem.characters": _Expression(
        lambda chance, a: "".join(chance.random.choices(string.ascii_lowercase, k=int(a[0]))), (1,)
    ),
    "lorem.words": _Expression(lambda chance, a: _lorem(chance, int(a[0]) if a else 3, " "), (0, 1)),
    "number.digits": _Expression(lambda chance, a: "".join(chance.random.choices(string.digits, k=int(a[0]))), (1,)),
    "number.numberbetween": _Expression(_between, (2,)),
    "number.randomdigit": _Expression(lambda chance, _: str(chance.random.randrange(10)), (0,)),
    "number.randomdigitnotzero": _Expression(lambda chance, _: str(chance.random.randrange(1, 10)), (0,)),
    "number.randomdouble": _Expression(_double, (3,)),
    "number.randomnumber": _Expression(lambda chance, _: str(chance.random.randrange(10**_LONGEST)), (0,)),
    "numerify": _Expression(lambda chance, a: _filled(a[0], chance, True, False), (1,)),
    "options.option": _Expression(lambda chance, a: chance.random.choice(a), tuple(range(1, 100))),
    "regexify": _Expression(_regexify, (1,)),
}
"""The expressions by provider and name, in small letters and without underscores. Others are those of `BY_METHOD`."""


@dataclass(frozen=True)
class Expression:
    """A checked expression. It is picklable.

    Attributes:
        text: The expression.
    """

    text: str

    def value(self, chance: Chance) -> Value:
        """Return a value: a moment if the expression is a date, else a text."""
        whole = _PLACE.fullmatch(self.text)
        if whole is not None:
            return _made(whole, chance)
        return _PLACE.sub(lambda found: as_text(_made(found, chance)), self.text)


def expression_of(text: str, column: str) -> Expression:
    """Return an expression.

    Args:
        text: Its text.
        column: The column, for messages.

    Raises:
        ValidationException: it has an unknown place `#{...}`, or one with a wrong number of arguments.
    """
    places = list(_PLACE.finditer(text))
    if "#{" in _PLACE.sub("", text):
        raise ValidationException(f'Invalid expression for column "{column}": cannot read {text!r}')
    for place in places:
        name = _name(place[1])
        count = len(_ARGUMENT.findall(place[2]))
        allowed = EXPRESSIONS[name].counts if name in EXPRESSIONS else (0,)
        if name not in EXPRESSIONS and name not in BY_METHOD:
            known = ", ".join(sorted({*EXPRESSIONS, *BY_METHOD}))
            raise ValidationException(
                f'Invalid expression for column "{column}": #{{{place[1]}}} is not supported. Supported are: {known}'
            )
        if count not in allowed:
            wanted = " or ".join(map(str, allowed[:3]))
            raise ValidationException(
                f'Invalid expression for column "{column}": #{{{place[1]}}} takes {wanted} arguments, found {count}'
            )
    return Expression(text)


def _name(text: str) -> str:
    return text.replace("_", "").lower()


def _made(place: re.Match[str], chance: Chance) -> Value:
    name = _name(place[1])
    if name in EXPRESSIONS:
        arguments = [found.replace("''", "'") for found in _ARGUMENT.findall(place[2])]
        return EXPRESSIONS[name].make(chance, arguments)
    return str(getattr(chance.faker, BY_METHOD[name])())


def as_text(value: Value) -> str:
    """Return a value as text, a moment as Java's Date does."""
    return value if isinstance(value, str) else value.strftime("%a %b %d %H:%M:%S UTC %Y")
