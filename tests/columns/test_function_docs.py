import re
from pathlib import Path

import pytest

from firesteel.columns.functions import find_function, function_names
from firesteel.columns.functions.aggregates import aggregate_names, find_aggregate

TEXT = (Path(__file__).parents[2] / "docs" / "sql_functions.md").read_text()
SUPPORTED, UNSUPPORTED = (part.split("\n## ")[0] for part in TEXT.split("## Supported")[1].split("## Functions that"))


def names(text):
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [name.replace("\\|", "|") for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("name", names(SUPPORTED))
def test_supported_function_is_there(name):
    assert find_function(name) or find_aggregate(name)


@pytest.mark.parametrize(
    "name", [name for name in names(UNSUPPORTED) if "*" not in name and "[" not in name and name.isupper()]
)
def test_unsupported_function_is_not(name):
    assert find_function(name) is None
    assert find_aggregate(name) is None


def test_each_function_is_documented():
    documented = set(names(SUPPORTED))
    # Forms of a documented function, other spellings, and what only the planner makes.
    forms = re.compile(r"IS (NOT )?JSON .*|.*_ON_NULL|.*_IGNORE_NULLS|JSON OPTION|MINUS .*|\$SUM0|!=")
    assert not [n for n in [*function_names(), *aggregate_names()] if n not in documented and not forms.fullmatch(n)]
