"""Functions of another kind of stream are refused with the calls that are missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import firesteel.datastream as api
from firesteel.common import Types
from firesteel.common.checks import BELONG_TO, with_article
from firesteel.common.time import Time
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.functions import window_functions

WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))


def places(stream: Any) -> dict[str, Callable[[Any], object]]:
    """A call that takes a class of functions, by the words of the table."""
    keyed = stream.key_by(lambda n: n)
    both = stream.connect(stream)
    return {
        "a stream after key_by()": keyed.process,
        "a stream without key_by()": stream.process,
        "a stream after key_by() and window()": keyed.window(WINDOWS).process,
        "a stream after window_all()": stream.window_all(WINDOWS).process,
        "connected streams without key_by()": both.process,
    }


@pytest.mark.parametrize("name", BELONG_TO)
def test_a_function_is_refused_where_it_does_not_belong(name: str) -> None:
    stream = api.StreamExecutionEnvironment.get_execution_environment().from_collection([1], Types.INT())
    kind = getattr(api, name, None) or getattr(window_functions, name)
    function = type("Mine", (kind,), {one: lambda *_: None for one in kind.__abstractmethods__})()
    refused = 0
    for where, call in places(stream).items():
        if where == BELONG_TO[name]:
            continue
        with pytest.raises(TypeError, match=re.escape(f", {with_article(name)}, which is for {BELONG_TO[name]}")):
            call(function)
        refused += 1
    assert refused >= 4
