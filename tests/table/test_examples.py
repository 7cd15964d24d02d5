"""The examples of tables and SQL."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.spark


def test_words_are_counted_with_sql(tmp_path, monkeypatch, capsys):
    (tmp_path / "text.txt").write_text("to be or not\nto be to\n")
    monkeypatch.setattr(sys, "argv", ["sql_word_count.py", "--input", str(tmp_path), "--top", "2"])
    runpy.run_path(str(EXAMPLES / "sql_word_count.py"), run_name="__main__")
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[3:5] == [["|", "to", "|", "3", "|"], ["|", "be", "|", "2", "|"]]


def test_the_temperature_example_uses_windows(capsys):
    runpy.run_path(str(EXAMPLES / "table_windows.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count("| +I |") == 4
    assert "22.0" in printed
