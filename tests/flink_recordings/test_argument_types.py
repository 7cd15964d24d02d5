"""Compares the types of expressions with arguments of all types with Flink's, and which arguments are refused."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from firesteel.columns.type_text import type_text
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from firesteel.table.planner.parse.parser import parse_expression
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.table_parts import rel_of
from tests.flink_recordings.argument_types.different import DIFFERENT
from tests.flink_recordings.argument_types.forms import filled, forms, key
from tests.flink_recordings.recordings import recorded_argument_types
from tests.flink_recordings.values.inputs import ZONE, write_inputs

pytestmark = pytest.mark.slow

REFUSED = "refused"
_OF_GROUPS = ("Aggregate expression", "OVER calls are only allowed", "FILTER")


def test_arguments_of_all_types_have_flinks_results(tmp_path: Path) -> None:
    recorded = recorded_argument_types()
    assert {form: list(found) for form, found in recorded.items()} == {f: [*map(key, a)] for f, a in forms().items()}
    expressions = Expressions(tmp_path)
    different: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for form, arguments in forms().items():
        for one in arguments:
            expected, found = recorded[form][key(one)], expressions.type_of(filled(form, one))
            if reason := _difference(found, expected):
                different[reason].setdefault(form, []).append(key(one))
    assert {reason: {f: " ; ".join(a) for f, a in found.items()} for reason, found in different.items()} == DIFFERENT


def _difference(found: str, expected: str) -> str | None:
    is_refused = expected in ("invalid", "no code")
    if found == expected or (found == REFUSED and is_refused):
        return None
    if found == REFUSED:
        return "Refused, where Flink accepts it"
    return f"Accepted, where Flink {'refuses it' if expected == 'invalid' else 'has no code'}" if is_refused else "Type"


class Expressions:
    """The expressions over the table of all types."""

    def __init__(self, directory: Path) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        self._t_env = StreamTableEnvironment.create(env)
        self._t_env.get_config().set("table.local-time-zone", ZONE)
        self._t_env.execute_sql(write_inputs(directory))
        self._resolver = ExpressionResolver(Scope.of(rel_of(self._t_env.from_path("v")).row_type), None)

    def type_of(self, text: str) -> str:
        try:
            kind = self._resolver.resolve(parse_expression(text)).type
        except FiresteelError as error:
            if not any(hint in str(error) for hint in _OF_GROUPS):
                return REFUSED
            return self._type_in_query(text)
        return type_text(kind)

    def _type_in_query(self, text: str) -> str:
        try:
            return type_text(self._t_env.sql_query(f"SELECT {text} FROM v").get_schema().get_field_data_types()[0])
        except FiresteelError:
            return REFUSED
