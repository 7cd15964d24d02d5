"""The examples of event patterns report what their pages say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.testing import run_local

EXAMPLES = Path(__file__).parents[2] / "examples"


def reported(example: str, function: str, events: str) -> list[Any]:
    module = runpy.run_path(str(EXAMPLES / example))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    module[function](env, module[events]).collect_async()
    return sorted(run_local(env).elements)


def test_login_alerts() -> None:
    assert reported("login_alerts.py", "alerts", "EVENTS") == [
        "bob: 3 failed logins until minute 5",
        "bob: no logout after minute 6",
    ]


def test_event_patterns() -> None:
    assert reported("event_patterns.py", "reports", "ORDERS") == [
        "foo=1 timed out at 3",
        "foo=1,4 other=3,5 at 5",
        "foo=2 bar=3 at 3",
        "foo=2,4 other=3,5 at 5",
        "foo=4 timed out at 6",
        "middle=1,2,4 end=5 at 5",
        "start=1 middle=2 end=5 at 5",
    ]
