"""ClickHouse's HTTP interface."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.common.options.sensitive_values import masked_text
from firesteel.connectors.http_client import TRANSIENT, HttpClient
from firesteel.errors import FiresteelError

_BUSY = 503


class ClickHouseError(FiresteelError):
    """ClickHouse rejected a statement or did not respond."""


@dataclass(frozen=True)
class ClickHouse:
    """A server.

    Attributes:
        url: The address of its HTTP interface.
        database: The database of statements.
        user: Name and password; None for the default user.
        max_retries: How often a statement is repeated after a lost connection.
    """

    url: str = field(repr=False)
    database: str
    user: tuple[str, str] | None = field(repr=False)
    max_retries: int

    def run(self, statement: str, body: bytes = b"", settings: Mapping[str, str] | None = None) -> bytes:
        """Return the answer to a statement, which may be followed by data.

        Raises:
            ClickHouseError: ClickHouse rejected the statement or did not respond.
        """
        parameters = {"database": self.database, "query": statement, **(settings or {})}
        url = f"{self.url.rstrip('/')}/?{urllib.parse.urlencode(parameters)}"
        for retry in range(self.max_retries + 1):
            is_last = retry == self.max_retries
            try:
                # Settings and statement in the address, so that the body is data alone.
                answer = HttpClient().send("POST", url, self._headers(), body)
            except TRANSIENT as error:
                if is_last:
                    raise self._error(statement, f"{type(error).__name__}: {error}") from error
            else:
                if answer.status < 300:
                    return answer.body
                if is_last or answer.status != _BUSY:
                    raise self._error(statement, f"status {answer.status}: {answer.text()}")
            time.sleep(retry + 1)
        raise AssertionError("the last attempt returns or raises")

    def _headers(self) -> dict[str, str]:
        if self.user is None:
            return {}
        return {"X-ClickHouse-User": self.user[0], "X-ClickHouse-Key": self.user[1]}

    def _error(self, statement: str, text: str) -> ClickHouseError:
        return ClickHouseError(f"ClickHouse at {masked_text(self.url)}: {statement[:200]!r}: {text}")


def quoted(name: str) -> str:
    """Return a name for statements."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
