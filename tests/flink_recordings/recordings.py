"""Reads the recordings of Flink that lie in this directory."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent
GRAPH_PROGRAMS = DIRECTORY / "graphs" / "programs"
TABLE_PROGRAMS = DIRECTORY / "tables" / "programs"


@cache
def recorded_graphs(program: str) -> dict[str, Any]:
    """Return the graphs that Flink built from a program of `graphs/programs`, by view."""
    return _packed(f"graphs/recorded/{program}.json.gz")


def recorded_surface(name: str) -> list[dict[str, Any]]:
    """Return the modules of PyFlink's public surface: `surface` or `surface_table`."""
    return _packed(f"api/{name}.json.gz")["modules"]


def recorded_table_results(program: str) -> dict[str, Any]:
    """Return PyFlink's results of a program of `tables/programs`, by mode."""
    return json.loads((DIRECTORY / "tables" / "golden" / f"{program}.json").read_text())["modes"]


@cache
def recorded_coders() -> dict[str, dict[str, str | None]]:
    """Return what PyFlink's coders made of values: by type and value a text, None for an error."""
    return json.loads((DIRECTORY / "coders" / "recorded.json").read_text())


@cache
def recorded_streams() -> dict[str, Any]:
    """Return what PyFlink gave for the programs of `streams/programs`, by name and mode."""
    return _packed("streams/recorded.json.gz")


@cache
def recorded_statements() -> dict[str, Any]:
    """Return PyFlink's results of single statements.

    `setup` holds the statements that declare the tables, `expressions` the type and value of each expression, `queries`
    the schema and the remaining rows of each query.
    """
    return json.loads((DIRECTORY / "tables" / "statements.json").read_text())


@cache
def recorded_table_api() -> dict[str, Any]:
    """Return PyFlink's results of single pieces of code that use the Table API.

    `expressions` holds the type and value of each expression, `tables` the code, schema and remaining rows of each
    table, which the code calls `R`.
    """
    return json.loads((DIRECTORY / "tables" / "table_api.json").read_text())


@cache
def recorded_hints() -> dict[str, Any]:
    """Return what Flink does with hints.

    `setup` holds the statements that declare the tables. Each of `statements` has the hints that the optimized plan
    shows, the text of the error, or `parse_error`.
    """
    return json.loads((DIRECTORY / "tables" / "hints.json").read_text())


@cache
def recorded_objects() -> dict[str, Any]:
    """Return the results of statements about models and functions.

    `module` is the source of the module `funcs`, `sequences` the statements that ran one after the other.
    """
    return json.loads((DIRECTORY / "tables" / "objects.json").read_text())


@cache
def recorded_large_results() -> dict[str, Any]:
    """Return Flink's results of the queries of `large`, or its errors, by query, mode and time zone."""
    return _packed("large/recorded.json.gz")


@cache
def recorded_values() -> dict[str, dict[str, Any]]:
    """Return by area and expression of `values` the type and the values as text, or Flink's errors."""
    return _packed("values/recorded.json.gz")


def recorded_argument_types() -> dict[str, dict[str, str]]:
    """Return by form and arguments of `argument_types` the type, `invalid` or `no code`."""
    return _packed("argument_types/recorded.json.gz")


def recorded_answer(name: str) -> dict[str, Any]:
    """Return a recorded answer of Flink's REST API: request, status and body."""
    return json.loads((DIRECTORY / "rest" / f"{name}.json").read_text())


def _packed(path: str) -> dict[str, Any]:
    return json.loads(gzip.decompress((DIRECTORY / path).read_bytes()))
