from __future__ import annotations

from pathlib import Path

import pytest

import firesteel.common
import firesteel.datastream
import firesteel.graph
import firesteel.metrics

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("package", [firesteel.common, firesteel.datastream, firesteel.graph, firesteel.metrics])
def test_every_name_that_a_package_promises_is_there(package):
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
