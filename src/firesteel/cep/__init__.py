"""Complex event processing: patterns of events in a stream (Flink: `org.apache.flink.cep`)."""

from __future__ import annotations

from firesteel.cep.pattern_stream import CEP, PatternStream
from firesteel.functions.cep.cep_errors import MalformedPatternError
from firesteel.functions.cep.conditions import ConditionContext, IterativeCondition, SimpleCondition
from firesteel.functions.cep.parts import WithinType
from firesteel.functions.cep.pattern import GroupPattern, Pattern
from firesteel.functions.cep.pattern_functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    ProcessContext,
    TimedOutPartialMatchHandler,
)
from firesteel.functions.cep.skip_strategies import AfterMatchSkipStrategy

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "ConditionContext",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "ProcessContext",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
