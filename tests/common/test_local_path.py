"""Local paths, plain or as URIs, are accepted; URIs of other file systems are rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.files.local_path import local_path
from firesteel.errors import InvalidProgramError


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("out", "out"),
        ("/data/out", "/data/out"),
        ("file:/data/out", "/data/out"),
        ("file:///data/out", "/data/out"),
        ("FILE:///data/out", "/data/out"),
        ("FILE:/data/out", "/data/out"),
        ("/data/a:b/2026-01-01T10:00", "/data/a:b/2026-01-01T10:00"),
        ("chk:/7", "chk:/7"),
    ],
)
def test_paths_and_file_uris_are_paths(text: str, path: str) -> None:
    assert local_path(text) == Path(path)


@pytest.mark.parametrize(
    "text", ["s3://bucket/out", "hdfs:///out", "hdfs://name:9000/out", "file://host/out", "s3://bucket"]
)
def test_uris_of_other_file_systems_are_refused(text: str) -> None:
    with pytest.raises(InvalidProgramError, match=f"path '{text}': no file system for .*allowed: a path"):
        local_path(text)
