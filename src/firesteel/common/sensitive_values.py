"""Secrets in options, masked wherever options are shown (Flink: `GlobalConfiguration.isSensitive`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HIDDEN = "******"
_SECRET = re.compile(
    r"password|secret|fs\.azure\.account\.key|apikey|api-key|auth-params|service-key|token|basic-auth"
    r"|jaas\.config|http-headers|zookeeper\.client\.authorization",
    re.IGNORECASE,
)


def masked_value(key: str, value: str) -> str:
    """Return the value of an option, or asterisks if it is a secret."""
    return _HIDDEN if _SECRET.search(key) else value


def masked(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with secrets masked (Flink: `GlobalConfiguration.hideSensitiveValues`).

    Example:
        >>> masked({"username": "sa", "password": "geheim"})
        {'username': 'sa', 'password': '******'}
    """
    return {key: masked_value(key, value) for key, value in options.items()}


def masked_argument(argument: str) -> str:
    """Return a command-line argument; a secret in `key=value` is masked."""
    key, is_option, value = argument.partition("=")
    return f"{key}={masked_value(key, value)}" if is_option and value else argument
