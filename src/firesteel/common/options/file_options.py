"""Options of file systems.

Flink's file systems of S3 have their options under several prefixes, and Hadoop's names besides Presto's.
"""

from __future__ import annotations

from firesteel.common.options.kinds import integer_from, memory, uri
from firesteel.common.options.option import Option

FS_DEFAULT_SCHEME = Option(
    "fs.default-scheme",
    uri,
    None,
    "Prefix of absolute paths without a scheme, such as `s3://bucket`",
)
S3_UPLOAD_MIN_PART_SIZE = Option(
    "s3.upload.min.part.size", memory, "5 mb", "Size of a part of a file; an upload has up to 10,000 parts"
)
S3_UPLOAD_MAX_CONCURRENT = Option(
    "s3.upload.max.concurrent.uploads", integer_from(1), "4", "Parts that a writer uploads at the same time"
)

S3_PREFIXES = ("s3.", "s3a.", "fs.s3.", "fs.s3a.", "presto.s3.")
S3_NAMES = {
    "key": ("access-key", "access.key"),
    "secret": ("secret-key", "secret.key"),
    "token": ("session-token", "session.token"),
    "endpoint": ("endpoint",),
    "region": ("endpoint.region", "region"),
    "tls": ("connection.ssl.enabled", "ssl.enabled"),
    "by_path": ("path.style.access", "path-style-access"),
}
"""The names, after each prefix, of what is needed to reach a store."""

AZURE_KEY = "fs.azure.account.key."
"""The beginning of the options with the keys of accounts."""


def is_read(key: str) -> bool:
    """Return whether an option that is in no list of Flink's is read to reach a file system.

    Example:
        >>> is_read("fs.s3a.access.key"), is_read("fs.s3a.fast.upload")
        (True, False)
    """
    return key in _READ or key.startswith(AZURE_KEY)


_READ = frozenset(prefix + name for prefix in S3_PREFIXES for names in S3_NAMES.values() for name in names)
