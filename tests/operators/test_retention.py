from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from firesteel.operators.chain.retention import keeps_nothing

KEPT: list[Any] = []


def with_default(value: Any, seen: list[Any] = KEPT) -> Any:
    seen += [value]
    return value


def kept_by_attribute(value: Any) -> Any:
    kept_by_attribute.last = value  # type: ignore[attr-defined]
    return value


def closing_over(seen: list[Any]) -> Any:
    return lambda value: seen.append(value) or value


def nested(value: Any) -> Any:
    return [(lambda part: KEPT.append(part))(part) for part in value]


def with_cents(event: Any) -> Any:
    event["cents"] = round(event["amount"] * 100)
    return event


class Function:
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    "function",
    [
        with_default,
        kept_by_attribute,
        closing_over([]),
        nested,
        Function().map,
        Function,
        lambda value: KEPT,
        lambda value: value.total(),
        [].append,
        {}.get,
        partial(with_cents),
    ],
)
def test_function_may_keep_values(function: Any) -> None:
    assert not keeps_nothing(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda pair: pair[0],
        lambda n: (n % 3, [str(n)]),
        with_cents,
        json.loads,
        len,
        int,
        lambda e: [p for p in e if p],
    ],
)
def test_functions_that_cannot_keep_values_are_recognised(function: Any) -> None:
    assert keeps_nothing(function)


def test_names_of_builtins_that_the_script_takes_over_count_as_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_name(value: Any) -> Any:
        return sorted(value)

    assert keeps_nothing(by_name)
    monkeypatch.setitem(globals(), "sorted", lambda value: KEPT)
    assert not keeps_nothing(by_name)
