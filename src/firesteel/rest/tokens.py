"""The bearer tokens of a server: of options, and of files that are read again after changes."""

from __future__ import annotations

import hmac
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from firesteel.common.files.watched_files import WatchedFiles
from firesteel.common.options.option import InvalidOptionError, Option
from firesteel.common.options.security_options import (
    REST_TOKEN_ADMIN,
    REST_TOKEN_FILE_ADMIN,
    REST_TOKEN_FILE_SUBMIT,
    REST_TOKEN_FILE_VIEW,
    REST_TOKEN_SUBMIT,
    REST_TOKEN_VIEW,
)
from firesteel.runtime.placeholders import check_not_placeholder
from firesteel.runtime.rpc.secret import MIN_BYTES

__all__ = ["Tokens", "is_same"]

_OPTIONS: Final = {"view": REST_TOKEN_VIEW, "submit": REST_TOKEN_SUBMIT, "admin": REST_TOKEN_ADMIN}
_FILES: Final = {"view": REST_TOKEN_FILE_VIEW, "submit": REST_TOKEN_FILE_SUBMIT, "admin": REST_TOKEN_FILE_ADMIN}

_Pair = tuple[str, str]
"""(role, token)."""


class Tokens:
    """The tokens with their roles.

    Args:
        configuration: Configuration of the server.

    Raises:
        InvalidOptionError: a token is too short, or others may read its file.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._given = [
            (role, _checked(configuration[option.key], f"option {option.key!r}"))
            for role, option in _OPTIONS.items()
            if option.key in configuration
        ]
        found = ((role, option, option.of(configuration)) for role, option in _FILES.items())
        self._files = [_watched(role, option, Path(path)) for role, option, path in found if path is not None]

    @property
    def are_required(self) -> bool:
        """Whether requests need a token."""
        return bool(self._given or self._files)

    def pairs(self) -> list[_Pair]:
        """Return the roles and tokens that are valid now."""
        return [*self._given, *(pair for file in self._files for pair in file.current())]

    def roles_of(self, given: str) -> list[str]:
        """Return the roles of a token that a request has shown."""
        # All are compared, so that the time does not tell which one was nearly right.
        return [role for role, token in self.pairs() if is_same(given, token)]


def _watched(role: str, option: Option[str | None], path: Path) -> WatchedFiles[list[_Pair]]:
    def read() -> list[_Pair]:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            lines = path.read_text().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidOptionError(f"option {option.key!r}: {str(path)!r} can't be read: {error}") from None
        if mode & 0o077:
            raise InvalidOptionError(
                f"option {option.key!r}: others may read {str(path)!r} (mode {mode:o}); allowed is 600"
            )
        where = f"option {option.key!r}: a line of {str(path)!r}"
        return [(role, _checked(line.strip(), where)) for line in lines if line.strip()]

    return WatchedFiles(f"the file of tokens {path}", [path], read)


def _checked(token: str, where: str) -> str:
    if len(token.encode()) < MIN_BYTES:
        raise InvalidOptionError(f"{where} has {len(token.encode())} bytes; the minimum is {MIN_BYTES}")
    check_not_placeholder(token.encode(), where)
    return token


def is_same(given: str, token: str) -> bool:
    """Compare in constant time; headers may contain any bytes."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())
