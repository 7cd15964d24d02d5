"""Typed expressions as the planner creates them, and their evaluation."""

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.registry import find_function
from firesteel.columns.rex import Call, InputRef, Literal
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow

INT = parse_type("INT")


def column(index, text):
    return InputRef(index, parse_type(text))


def lit(value, text):
    return Literal(value, parse_type(text))


def call(name, *operands):
    """Return a typed call as the planner creates it, with operands cast to the parameter types."""
    casts, result = find_function(name).resolve([operand.type for operand in operands], operands)
    typed = [o if o.type.same_as(c) else cast(o, c) for o, c in zip(operands, casts, strict=True)]
    return Call(name, tuple(typed), result)


def cast(operand, target, name="CAST"):
    target = target if isinstance(target, DataType) else parse_type(target)
    return Call(name, (operand,), target.with_nullable(name == "TRY_CAST" or operand.type.is_nullable))


def run(rex, *columns, context=None):
    arrays = [to_arrow(values, parse_type(text)) for text, values in columns]
    batch = ColumnBatch(tuple(arrays), len(arrays[0]) if arrays else 1)
    return compile_rex(rex, context or EvaluationContext())(batch).to_pylist()
