"""Event patterns find what Flink's NFA found for the same patterns and events, in the same order."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import Counter
from functools import cache
from typing import Any

import pytest

from firesteel.functions.cep.pattern_compiler import compile_pattern
from firesteel.operators.cep.nfa import Found, Nfa
from tests.flink_recordings.patterns import events_of, match_text, pattern_of
from tests.flink_recordings.recordings import DIRECTORY

SCENARIOS = json.loads((DIRECTORY / "cep" / "scenarios.json").read_text())
END_MS = 1_000_000
"""The time at which the recorder let all partial matches time out."""


@cache
def random_cases() -> list[list[Any]]:
    """Return the random cases: skip strategy, pattern, events, and what Flink found."""
    return json.loads(gzip.decompress((DIRECTORY / "cep" / "random.json.gz").read_bytes()))


def found_in(skip: str, text: str, events: str, restores: bool) -> list[str] | str:
    """Return what is found, in the text of the recordings; `restores` restores the state after each event."""
    pattern = pattern_of(text, skip)
    nfa = Nfa(compile_pattern(pattern), pattern.skip_strategy, True, lambda event: event, lambda: 0)
    state, texts = nfa.initial, []

    def take(number: int, kind: str, found: Found) -> None:
        nonlocal state
        state = pickle.loads(pickle.dumps(found.state)) if restores else found.state
        texts.extend(f"{number}{kind} {match_text(match)}" for match in found.matches)
        texts.extend(f"{number}T {time} {match_text(match)}" for match, time in found.timed_out)

    try:
        for number, (event, time) in enumerate(events_of(events)):
            take(number, "P", nfa.advance_time(state, time))
            take(number, "M", nfa.process(state, event, time))
        take(len(events.split()), "P", nfa.advance_time(state, END_MS))
    except RuntimeError:
        return "error"
    return texts


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_scenario_finds_what_flink_found(scenario: dict[str, Any]) -> None:
    found = found_in(scenario["skip"], scenario["pattern"], scenario["events"], restores=False)
    assert found == scenario["found"]


@pytest.mark.parametrize("restores", [False, True])
def test_random_patterns_find_what_flink_found(restores: bool) -> None:
    wrong = [case for case in random_cases() if found_in(*case[:3], restores) != case[3]]
    assert not wrong, f"{len(wrong)} of {len(random_cases())} differ, such as {wrong[0]}"


def test_recordings_use_each_call_of_patterns() -> None:
    words = Counter(word.partition(":")[0] for case in random_cases() if case[3] for word in case[1].split())
    calls = "begin next followedBy followedByAny notNext notFollowedBy where or until iter times oneOrMore timesOrMore"
    calls += " optional greedy consecutive allowCombinations within withinPrev beginG nextG followedByG followedByAnyG"
    assert min(words[call] for call in calls.split()) > 20
    assert {case[0].partition(":")[0] for case in random_cases()} >= {"none", "next", "past", "first", "last", "lastX"}
