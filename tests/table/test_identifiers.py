"""Connectors and formats are found by what their folders declare."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from firesteel import connectors
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.identifiers import table_connectors, table_formats
from firesteel.connectors.table_options import Options


def test_each_identifier_has_a_module_with_what_makes_it() -> None:
    for module in table_connectors().values():
        names = vars(importlib.import_module(module))
        assert "source" in names or "sink" in names
    for use in ("files", "messages"):
        for module in table_formats(use).values():
            assert "make" in vars(importlib.import_module(module))


def test_each_module_named_as_that_of_a_table_is_declared() -> None:
    (root,) = connectors.__path__
    written = {
        "firesteel.connectors." + ".".join(path.relative_to(root).with_suffix("").parts)
        for path in Path(root).rglob("*table.py")
        if path.parent != Path(root)
    }
    assert written == {
        module
        for module in (
            *table_connectors().values(),
            *table_formats("files").values(),
            *table_formats("messages").values(),
        )
        if module.endswith("table")
    }


def test_a_new_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    (folder / "__init__.py").write_text('FILES = {"fixed": "table"}')
    made = "from firesteel.connectors.formats.table_format import Format\nmake = Format\n"
    (folder / "table.py").write_text(made)
    monkeypatch.setattr(
        "firesteel.connectors.formats.__path__",
        [*importlib.import_module("firesteel.connectors.formats").__path__, str(tmp_path)],
    )
    table_formats.cache_clear()
    try:
        columns = Columns((), ())
        assert make_format("fixed", columns, Options({}, "fixed"), "files").columns is columns
        assert "fixed" not in table_formats("messages")
    finally:
        table_formats.cache_clear()
        for name in ("fixed", "fixed.table"):
            sys.modules.pop(f"firesteel.connectors.formats.{name}", None)
