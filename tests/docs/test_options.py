"""The reference of options agrees with the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import firesteel
from docs.generate.options import Option, documented_options, options_table
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.known_options import OWN_OPTIONS, known_options
from firesteel.common.options.memory_size import parse_bytes
from firesteel.common.time import Duration

SOURCE = Path(firesteel.__file__).parent
DOCUMENTED = {option.name: option for option in documented_options()}
NO_EFFECT = {
    "execution.checkpointing.data-inline-threshold",
    "execution.checkpointing.incremental",
    "execution.checkpointing.snapshot-compression",
    "execution.checkpointing.storage",
    "execution.checkpointing.write-buffer-size",
    "jobmanager.scheduler",
    "metrics.latency.interval",
    "pipeline.classpaths",
    "pipeline.closure-cleaner-level",
    "pipeline.force-avro",
    "pipeline.generic-types",
    "pipeline.jars",
    "security.ssl.internal.cert.fingerprint",
    "security.ssl.rest.cert.fingerprint",
    "state.backend.local-recovery",
    "state.backend.rocksdb.checkpoint.transfer.thread.num",
    "state.backend.rocksdb.predefined-options",
    "state.changelog.enabled",
    "task.cancellation.interval",
}
"""Options that the sources name to accept, store or refuse them."""


def trees() -> Iterator[ast.Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name != "known_options.py":
            yield ast.parse(path.read_text())


def named_options() -> set[str]:
    known = known_options()
    return {
        node.value
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    }


READERS = {"duration_s": "duration", "number": "number", "boolean": "boolean", "memory_bytes": "memory"}
GETTERS = ("get", "get_string", "get_boolean", "get_integer")


def read_options() -> Iterator[tuple[str, str, str]]:
    """Yield option, reader and default of calls such as `duration_s(configuration, "slot.idle.timeout", 50)`."""
    for tree in trees():
        constants = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            reader = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if (reader in READERS and len(node.args) == 3) or (reader in GETTERS and len(node.args) == 2):
                option, default = (constants.get(getattr(one, "id", ""), one) for one in node.args[-2:])
                name = option_named_by(option)
                if name is not None and isinstance(default, ast.Constant) and default.value not in (None, ""):
                    yield name, reader, str(default.value)


def option_named_by(node: ast.expr) -> str | None:
    """Return the option that a constant names, or the only one that ends as an f-string does."""
    if isinstance(node, ast.Constant) and node.value in DOCUMENTED:
        return str(node.value)
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[-1], ast.Constant):
        names = [name for name in DOCUMENTED if name.endswith(str(node.values[-1].value))]
        return names[0] if len(names) == 1 else None
    return None


def value(option: Option, text: str) -> object:
    """Return a default as a number or lowered text, so that `1 min` equals `60 s`."""
    if option.kind == "duration":
        return Duration.parse(text).to_nanos() / 1e9
    if option.kind == "memory":
        return parse_bytes(text)
    return float(text) if option.kind in ("int", "float") else text.lower()


@pytest.mark.parametrize("option", sorted(named_options() - NO_EFFECT - set(deprecated_keys())))
def test_an_option_that_the_sources_read_is_documented(option: str) -> None:
    assert option in DOCUMENTED, f"add {option} to docs/generate/options.txt"


def test_options_without_effect_are_named_by_the_sources_and_not_documented() -> None:
    assert named_options() >= NO_EFFECT
    assert sorted(NO_EFFECT & set(DOCUMENTED)) == []


@pytest.mark.parametrize("option", sorted(OWN_OPTIONS))
def test_options_of_our_own_are_documented(option: str) -> None:
    assert option in DOCUMENTED


@pytest.mark.parametrize(
    "option", sorted(name for name in DOCUMENTED if not name.startswith(("table.", "sql-client.")))
)
def test_a_documented_option_exists(option: str) -> None:
    fixed_prefixes = ("fs.", "env.", "restart-strategy.", "cleanup-strategy.", "high-availability.zookeeper.")
    assert option in known_options() or option.startswith(fixed_prefixes)


CALLS = sorted(set(read_options()))


@pytest.mark.parametrize(("option", "reader", "default"), CALLS)
def test_type_and_default_are_those_that_the_sources_use(option: str, reader: str, default: str) -> None:
    documented = DOCUMENTED[option]
    if reader in READERS:
        assert documented.kind in {"number": ("int", "float")}.get(reader, (READERS[reader],))
    if not documented.default.startswith("("):
        in_seconds = reader == "duration_s"
        assert value(documented, documented.default) == (float(default) if in_seconds else value(documented, default))


def test_more_than_fifty_defaults_are_checked() -> None:
    assert len(CALLS) > 50


def test_the_table_has_a_row_for_each_option() -> None:
    rows = [line for line in options_table().splitlines() if line.startswith("| <code>")]
    assert len(rows) == len(DOCUMENTED) == len(documented_options())
