"""Local paths, given as plain paths or as `file:` URIs."""

from __future__ import annotations

import re
from pathlib import Path

from firesteel.errors import InvalidProgramError

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)")


def local_path(text: str) -> Path:
    """Return the path of a text that may be a `file:` URI.

    >>> local_path("file:/checkpoints/chk-7"), local_path("file:///out"), local_path("out")
    (PosixPath('/checkpoints/chk-7'), PosixPath('/out'), PosixPath('out'))

    Raises:
        InvalidProgramError: the text is a URI of another file system.
    """
    uri = _URI.fullmatch(text)
    if uri is None or (uri["scheme"].lower() != "file" and uri["authority"] is None):
        return Path(text)
    if uri["scheme"].lower() == "file" and not uri["authority"]:
        return Path(uri["path"])
    raise InvalidProgramError(
        f"path {text!r}: no file system for {uri['scheme']}://{uri['authority']}; "
        "allowed: a path that all processes of the cluster see, file:///path"
    )
