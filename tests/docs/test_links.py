"""The check of the built site finds broken links and remote assets."""

from __future__ import annotations

from pathlib import Path

from docs.generate.links import problems


def test_existing_targets_cause_no_problem(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="b/c.html#there">x</a><a href="https://elsewhere.example">y</a>'
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.html").write_text('<h1 id="there"><a href="../a.html#top">x</a><a href="#there">y</a>')
    assert problems(tmp_path) == []


def test_missing_files_and_anchors_and_remote_assets_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.py"></a><a href="#c"></a><script src="https://cdn.example/x.js"></script>'
    )
    assert problems(tmp_path) == [
        "a.html loads https://cdn.example/x.js",
        "a.html links to #c, which does not exist",
        "a.html links to b.py, which does not exist",
    ]
