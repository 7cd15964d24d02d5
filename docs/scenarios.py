"""Writes docs/scenarios.md: which tests cover which scenario of the control plane.

    python docs/scenarios.py

A test names the scenarios that it covers in a comment after its signature, as in `def test_a() -> None:  # A01 B02`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "scenarios.md"

SECTIONS = {
    "A": ("Dispatcher: submit, run, remove, recover", 25),
    "B": ("JobGraphStore", 8),
    "C": ("RunningJobsRegistry and JobResultStore", 7),
    "D": ("Leader election and fencing", 16),
    "E": ("JobManagerRunner and the start of a JobMaster", 20),
    "F": ("RetryingRegistration", 10),
    "G": ("SlotPool", 30),
    "H": ("SlotSharingManager and shared allocation", 20),
    "I": ("Preferred locations and slot selection", 12),
    "J": ("SlotManager", 28),
    "K": ("ResourceManager and workers", 20),
    "L": ("TaskExecutor", 25),
    "M": ("Scheduling", 15),
    "N": ("States of an execution", 13),
    "O": ("ExecutionGraph and states of a job", 12),
    "P": ("Failover strategies", 10),
    "Q": ("Restart strategies", 8),
}
"""Title and number of scenarios, by the first letter of their ids."""

_REQUESTED_ONE_BY_ONE = "Slots are requested one by one, as in Flink 1.12; nothing declares requirements of slots."
NOT_COVERED: Mapping[str, str] = {"G30": _REQUESTED_ONE_BY_ONE, "J28": _REQUESTED_ONE_BY_ONE}
"""Scenarios without a test, with the reason."""

_IDS = re.compile(r"#((?: [A-Q]\d\d)+)$")
_IDS_OF_A_LINE = re.compile(_IDS.pattern, re.MULTILINE)
_INTRODUCTION = """\
# Scenarios of the control plane

Scenarios of Flink's control plane, and the tests that cover them. `python docs/scenarios.py` generates this page from
the comments after the tests' signatures; do not edit it by hand.
"""


def scenario_ids() -> list[str]:
    """Return all ids."""
    return [f"{letter}{number:02}" for letter, (_, count) in SECTIONS.items() for number in range(1, count + 1)]


def tests_by_scenario() -> dict[str, list[str]]:
    """Return the tests that name each id, as `file::test`."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text()
        if _IDS_OF_A_LINE.search(source) is None:
            continue  # Most files have none, and are not parsed.
        for name, ids in _tests_of(source):
            for scenario_id in ids:
                found.setdefault(scenario_id, []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return found


def _tests_of(source: str) -> Iterator[tuple[str, list[str]]]:
    """Tests, and the ids in the comments between the `def` and the first statement of each."""
    ids = {
        token.start[0]: match[1].split()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and (match := _IDS.match(token.string)) is not None
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            signature = range(node.lineno, node.body[0].lineno)
            yield node.name, [scenario_id for line in signature for scenario_id in ids.get(line, [])]


def problems(tests: Mapping[str, list[str]]) -> list[str]:
    """What is wrong with the ids that tests name; nothing, if all is well."""
    known = scenario_ids()
    return [
        *(f"{one} has no test and no reason why" for one in known if one not in tests and one not in NOT_COVERED),
        *(f"{one} has tests, but is said to have none: {NOT_COVERED[one]}" for one in NOT_COVERED if one in tests),
        *(f"{one} is no scenario, but {where[0]} names it" for one, where in tests.items() if one not in known),
    ]


def document(tests: Mapping[str, list[str]]) -> str:
    """The text of docs/scenarios.md."""
    covered = sum(scenario_id in tests for scenario_id in scenario_ids())
    lines = [_INTRODUCTION, f"{covered} of {len(scenario_ids())} scenarios are covered."]
    for letter, (title, count) in SECTIONS.items():
        lines += ["", f"## {letter}. {title}", "", "| scenario | tests |", "|---|---|"]
        for number in range(1, count + 1):
            scenario_id = f"{letter}{number:02}"
            cell = "<br>".join(f"`{test}`" for test in tests.get(scenario_id, [])) or NOT_COVERED.get(scenario_id, "")
            lines.append(f"| {scenario_id} | {cell} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Write the document; the exit code."""
    tests = tests_by_scenario()
    DOCUMENT.write_text(document(tests))
    wrong = problems(tests)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
