"""Secrets in options, masked wherever options are shown (Flink: `GlobalConfiguration.isSensitive`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_HIDDEN = "******"
_WORDS = (
    r"password|passwd|passphrase|secret|credential|fs\.azure\.account\.key|api-?key|access-?key|private-?key|auth-params"
    r"|service-key|token|basic-auth|jaas\.config|http-headers|zookeeper\.client\.authorization"
)
_SECRET = re.compile(_WORDS.replace("-?", "[-_.]?"), re.IGNORECASE)
_NAME = re.compile(r"""(?<![\w.\-])([\w.\-]++)["']?+\s*+[:=]\s*+""")
_VALUE = re.compile(r""""[^"]*+"|'[^']*+'|[^\s,;&"'}\]]++""")
"""A name and its value, as in `db.password: x`, `-Ddb.password=x` and `?password=x`. No part is matched twice, so that
the time is linear in the length of a text."""

_IN_ADDRESS = re.compile(r"(://[^/\s:@]*+:)[^/\s@]++@")


def masked_value(key: str, value: str) -> str:
    """Return the value of an option with secrets masked: all of it, or those of the names and addresses in it.

    Example:
        >>> masked_value("pipeline.global-job-parameters", '{"db.password": "geheim", "db.user": "sa"}')
        '{"db.password": "******", "db.user": "sa"}'
        >>> masked_value("env.java.opts", "-Xmx1g -Ddb.password=geheim")
        '-Xmx1g -Ddb.password=******'
    """
    return _HIDDEN if _SECRET.search(key) else masked_text(value)


def masked_text(text: str) -> str:
    """Return a text, such as an address, with the values of secrets in it masked.

    Example:
        >>> masked_text("postgresql://sa:geheim@db:5432/shop?password=geheim&ssl=true")
        'postgresql://sa:******@db:5432/shop?password=******&ssl=true'
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(_masked_json(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return _IN_ADDRESS.sub(rf"\1{_HIDDEN}@", "".join(_without_secrets(text)))


def _without_secrets(text: str) -> Iterator[str]:
    """Yield the parts of a text, with asterisks in place of the values of secrets."""
    begin = at = 0
    while (name := _NAME.search(text, at)) is not None:
        at = name.end()
        if _SECRET.search(name.group(1)) and (value := _VALUE.match(text, at)) is not None:
            yield text[begin:at]
            yield _HIDDEN
            begin = at = value.end()
    yield text[begin:]


def _masked_json(value: object) -> object:
    if isinstance(value, dict):
        return {key: _HIDDEN if _SECRET.search(key) else _masked_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked_json(item) for item in value]
    return masked_text(value) if isinstance(value, str) else value


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
