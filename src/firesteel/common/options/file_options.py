"""Options of file systems."""

from __future__ import annotations

from firesteel.common.options.kinds import uri
from firesteel.common.options.option import Option

FS_DEFAULT_SCHEME = Option(
    "fs.default-scheme",
    uri,
    None,
    "Prefix of absolute paths without a scheme, such as `s3://bucket`",
)
