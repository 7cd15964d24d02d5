"""Each option is declared once, read somewhere, and each of Flink's options is in exactly one class."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import firesteel
from firesteel.common.options import stored_options
from firesteel.common.options.declared import AREAS, declared_options, effective_options, options_of
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.file_options import S3_PREFIXES, is_read
from firesteel.common.options.known_options import flink_options, known_options
from firesteel.common.options.option import Option
from firesteel.common.options.option_classes import OptionClass, class_of, rule_of
from firesteel.common.options.options_without_counterpart import WITHOUT_COUNTERPART
from firesteel.common.options.refused_options import REFUSED
from firesteel.common.options.spark_counterparts import LISTS, MAPS, SAME_VALUE

SOURCE = Path(firesteel.__file__).parent
DECLARATIONS = SOURCE / "common" / "options"
MODULES = [module for modules in AREAS.values() for module in modules]
CONSTANTS = {name: value for module in MODULES for name, value in vars(module).items() if isinstance(value, Option)}
NOT_READ_BY_A_READER = {"KERBEROS_KEYTAB", "KERBEROS_PRINCIPAL", "KERBEROS_FILE_SYSTEMS"}
"""Options that a table of Spark's settings reads by their keys."""

NOT_LISTED = (
    *S3_PREFIXES,
    "fs.*",
    "presto.",
    "gs.",
    "kubernetes.",
    "yarn.",
    "flink.",
    "external-res",
    "containerized.",
)
"""Beginnings of options of file systems and deployments, of which Flink has no closed list."""

OPTIONS_OF_TABLES = {
    "heartbeat.interval",
    "sink.batch.max-size",
    "sink.flush-buffer.size",
    "sink.flush-buffer.timeout",
    "sink.requests.max-buffered",
    "sink.requests.max-inflight",
}
"""Options of table connectors, which Flink's list of options has, too (`AsyncSinkConnectorOptions`)."""

FIELDS_OF_JSON = {"restart-strategy"}
SETTERS = {"set_string", "set_boolean", "set_integer"}
OPTIONS = [option for module in (*MODULES, stored_options) for option in options_of(module)]


@pytest.fixture(scope="module")
def trees() -> list[ast.Module]:
    """Return the sources without the declarations of options."""
    return [ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py")) if path.parent != DECLARATIONS]


def read_constants(trees: list[ast.Module]) -> Iterator[str]:
    """Yield the constants that are used other than by their keys."""
    readers = ("option_check.py", "job_parameters.py", "python_dependencies.py")
    for tree in (*trees, *(ast.parse((DECLARATIONS / name).read_text()) for name in readers)):
        by_key = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr == "key" and not isinstance(node.ctx, ast.Store)
        }
        looked_up = {
            id(part.value)
            for node in ast.walk(tree)
            if (isinstance(node, ast.Call) and getattr(node.func, "attr", "") not in SETTERS)
            or isinstance(node, ast.Compare | ast.Subscript | ast.Tuple)
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and (id(node) not in by_key or id(node) in looked_up):
                yield node.id


def test_each_option_that_has_an_effect_is_read(trees: list[ast.Module]) -> None:
    assert sorted(set(CONSTANTS) - set(read_constants(trees)) - NOT_READ_BY_A_READER) == []


def test_no_key_of_an_option_stands_elsewhere_in_the_sources(trees: list[ast.Module]) -> None:
    found = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known_options()
    }
    assert found == FIELDS_OF_JSON | OPTIONS_OF_TABLES


def test_no_call_repeats_the_default_of_an_option(trees: list[ast.Module]) -> None:
    repeated = [
        ast.unparse(node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "").startswith("get")
        and len(node.args) == 2
        and ast.unparse(node.args[0]).removesuffix(".key") in CONSTANTS
    ]
    assert repeated == []


def test_keys_and_constants_are_declared_once() -> None:
    assert [key for key, count in Counter(option.key for option in OPTIONS).items() if count > 1] == []
    names = Counter(
        name
        for module in (*MODULES, stored_options)
        for name, value in vars(module).items()
        if isinstance(value, Option)
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("option", OPTIONS, ids=str)
def test_a_default_is_a_value_of_the_option_and_an_effect_is_told(option: Option[Any]) -> None:
    assert option.of({}) == option.default_value
    assert option.effect
    assert option.key not in deprecated_keys()


def test_each_of_flinks_options_is_in_exactly_one_class() -> None:
    assert len(flink_options()) > 790
    assert sorted(name for name in flink_options() if class_of(name) is None) == []
    by_rule = {name for name in flink_options() if name in effective_options() and name in _exact_names()}
    assert by_rule == set()


def _exact_names() -> set[str]:
    return {name for rule in (*REFUSED, *WITHOUT_COUNTERPART) for name in rule.names()}


def test_no_two_rules_have_the_same_pattern_and_each_pattern_fits_an_option() -> None:
    patterns = Counter(name for rule in (*REFUSED, *WITHOUT_COUNTERPART) for name in rule.names())
    assert [pattern for pattern, count in patterns.items() if count > 1] == []
    current = {deprecated_keys().get(name, name) for name in flink_options() if name not in effective_options()}
    unused = [
        pattern
        for pattern in patterns
        if not pattern.startswith(NOT_LISTED)
        and pattern not in current
        and not (pattern.endswith(".*") and any(n.startswith(pattern[:-1]) for n in current))
    ]
    assert unused == []


def test_each_rule_has_a_reason_and_accepts_lowered_values() -> None:
    for rule in (*REFUSED, *WITHOUT_COUNTERPART):
        assert rule.reason
        assert not rule.reason.endswith(".")
        assert [value for value in rule.accepted if value != value.lower()] == []


def test_options_of_security_are_effective_or_refused() -> None:
    options = [name for name in flink_options() if name.startswith("security.") or ".ssl." in name]
    assert len(options) > 50
    assert [name for name in options if class_of(name) is OptionClass.WITHOUT_COUNTERPART] == []


def test_options_that_are_only_stored_have_a_rule() -> None:
    stored = {key for key, option in declared_options().items() if option in options_of(stored_options)}
    assert sorted(key for key in stored if rule_of(key) is None) == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("s3.access-key", OptionClass.EFFECTIVE),
        ("fs.azure.account.key.account.dfs.core.windows.net", OptionClass.EFFECTIVE),
        ("yarn.application.queue", OptionClass.EFFECTIVE),
        ("kubernetes.container.image", OptionClass.EFFECTIVE),
        ("containerized.taskmanager.env.A", OptionClass.EFFECTIVE),
        ("fs.s3a.server-side-encryption-algorithm", OptionClass.REFUSED),
        ("s3.sse.type", OptionClass.REFUSED),
        ("kubernetes.secrets", OptionClass.REFUSED),
        ("fs.s3a.fast.upload", OptionClass.WITHOUT_COUNTERPART),
        ("s3.entropy.key", OptionClass.WITHOUT_COUNTERPART),
        ("kubernetes.taskmanager.tolerations", OptionClass.WITHOUT_COUNTERPART),
        ("containerized.master.env.A", OptionClass.WITHOUT_COUNTERPART),
        ("metrics.reporter.prom.port", OptionClass.EFFECTIVE),
        ("spark.ui.enabled", None),
        ("my.own", None),
    ],
)
def test_options_of_file_systems_and_deployments_are_classified(key: str, expected: OptionClass | None) -> None:
    assert class_of(key) is expected


def test_no_rule_is_about_an_option_that_becomes_one_of_sparks_or_reaches_a_store() -> None:
    assert [name for name in _exact_names() if name in {*SAME_VALUE, *LISTS, *MAPS} or is_read(name)] == []
