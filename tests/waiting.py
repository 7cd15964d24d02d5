"""Waits for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> Any:
    """Return the value of a condition once it is true.

    Raises:
        AssertionError: it was not in time.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)
    return found
