"""Compares the words that are names with those of Flink's parser, at each place where a name may stand."""

from __future__ import annotations

import json

import pytest

from firesteel.table.errors import SqlParserError
from firesteel.table.planner.parse.parser import parse
from firesteel.table.planner.parse.reserved_words import RESERVED, RESERVED_FUNCTIONS
from tests.flink_recordings.recordings import DIRECTORY

RECORDED = json.loads((DIRECTORY / "words" / "recorded.json").read_text())
WORDS = {*RECORDED["reserved"].split(), *RECORDED["not_reserved"].split()}
CALLS = {name: place for name, place in RECORDED["places"].items() if name.startswith("call")}
NAMES = {name: place for name, place in RECORDED["places"].items() if name not in CALLS}

NOT_CALLS = frozenset(["ALL", "DISTINCT", "EXISTS", "NOT", "ROW", "RUNNING", "STREAM", "UNIQUE"])
"""Words before a parenthesis that begin no call of a function, so that an expression or a query follows."""


def refuses(statement):
    try:
        parse(statement)
    except SqlParserError:
        return True
    return False


def refused_by_flink(place):
    return {*RECORDED["reserved"].split()} - {*place["not_refused"].split()} | {*place["also_refused"].split()}


def test_reserved_words_are_those_of_flink():
    assert " ".join(sorted(RESERVED)) == RECORDED["reserved"]


@pytest.mark.parametrize("name", NAMES)
def test_a_word_is_a_name_where_it_is_one_in_flink(name):
    place = NAMES[name]
    assert {word for word in WORDS if refuses(place["statement"].format(word))} == refused_by_flink(place)


def test_reserved_words_are_called_where_they_are_functions_in_flink():
    never = set.intersection(*(refused_by_flink(place) for place in CALLS.values()))
    assert RESERVED - never - NOT_CALLS == RESERVED_FUNCTIONS
    calls = [place["statement"] for place in CALLS.values()]
    special = {word for word in RESERVED & never if not all(refuses(call.format(word)) for call in calls)}
    assert special == {"JSON_OBJECTAGG", "OVERLAY"}  # its own syntax, also with commas


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("SELECT v AS value FROM t", "value"),
        ("CREATE TABLE x (id INT, timestamp BIGINT)", "timestamp"),
        ("SELECT t.year FROM t", "year"),
        ("SELECT CAST(r AS ROW<a INT, day INT>) FROM t", "day"),
        ("SELECT start(1)", "start"),
    ],
)
def test_the_error_says_how_a_reserved_word_is_quoted(statement, word):
    column = statement.index(word) + 1
    message = f'Encountered "{word}" at line 1, column {column} ("{word}" is a reserved word: quote it'
    with pytest.raises(SqlParserError) as caught:
        parse(statement)
    assert message in str(caught.value)
    assert not refuses(statement.replace(word, f"`{word}`"))
