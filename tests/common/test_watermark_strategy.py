from __future__ import annotations

import pytest

from firesteel.common import TimestampAssigner, WatermarkStrategy


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


def test_a_function_assigns_timestamps():
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, before: value + before
    )
    assert strategy.timestamp_assigner.extract_timestamp(3, 4) == 7


def test_a_timestamp_assigner_is_used_unchanged():
    assigner = Assigner()
    assert WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner).timestamp_assigner is assigner


@pytest.mark.parametrize("assigner", [3, Assigner])
def test_objects_other_than_functions_and_assigners_are_rejected(assigner):
    with pytest.raises(TypeError, match="takes a TimestampAssigner or a function of value and record timestamp"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner)
