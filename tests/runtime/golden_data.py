"""Recorded graphs and responses of Flink 2.3."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any


@functools.cache
def golden(name: str) -> Any:
    """The contents of `golden/execution_graph/<name>.json`."""
    return json.loads((Path(__file__).parent / "golden" / "execution_graph" / f"{name}.json").read_text())
