"""The page of options shows all three classes."""

from __future__ import annotations

import pytest

from docs.generate.options import options_table, options_without_counterpart, refused_options
from firesteel.common.options.declared import effective_options
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.known_options import flink_options
from firesteel.common.options.option_classes import OptionClass, class_of
from firesteel.common.options.options_without_counterpart import WITHOUT_COUNTERPART

pytestmark = pytest.mark.slow


def test_each_option_with_an_effect_has_a_row() -> None:
    rows = [line for line in options_table().splitlines() if line.startswith("| <code>")]
    assert len(rows) == len(set(effective_options().values())) > 150
    assert all(line.count(" | ") == 3 for line in rows)


def test_each_refused_option_is_named_with_the_reason() -> None:
    table = refused_options().replace("<wbr>", "")
    refused = {name for name in flink_options() if class_of(name) is OptionClass.REFUSED}
    assert [name for name in sorted(refused - set(deprecated_keys())) if f"<code>{name}</code>" not in table] == []


def test_each_rule_about_options_without_counterpart_has_a_row() -> None:
    rows = [line for line in options_without_counterpart().splitlines() if line.startswith("| <code>")]
    assert len(rows) == len(WITHOUT_COUNTERPART)
