"""Each decision is named by the code that it explains."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPLACED = {
    "0001-source-and-sink-through-rate-micro-batch.md": "0011-a-spark-job-per-batch.md",
    "0013-state-on-disk-in-sqlite.md": "0052-state-on-disk-in-lmdb.md",
}
"""Decisions that no code follows any more, and the later ones."""


def test_each_decision_is_named_by_code_and_each_name_is_one() -> None:
    decisions = {path.name for path in (ROOT / "docs/decisions").glob("0*.md")}
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"docs/decisions/([0-9a-z-]+\.md)", path.read_text()))
    assert named | REPLACED.keys() == decisions
    assert not named & REPLACED.keys()
    assert set(REPLACED.values()) <= named
