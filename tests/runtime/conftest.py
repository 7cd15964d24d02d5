from __future__ import annotations

import pytest

from firesteel.runtime.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock()
