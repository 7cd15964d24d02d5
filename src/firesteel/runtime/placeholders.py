"""Placeholders of secrets, as manifests and examples contain them."""

from __future__ import annotations

import re

from firesteel.common.options.option import InvalidOptionError

_PLACEHOLDER = re.compile(rb"change[-_ ]?(me|this|it)|replace[-_ ]?(me|this)|<[a-z -]+>|\.\.\.", re.IGNORECASE)


def check_not_placeholder(secret: bytes, where: str) -> None:
    """Check that a secret is not the example of a manifest or of the documentation, which everyone knows.

    Raises:
        InvalidOptionError: it is.
    """
    if _PLACEHOLDER.search(secret):
        raise InvalidOptionError(
            f"{where} is a placeholder, which everyone knows; set a random value, for example of: openssl rand -hex 32"
        )
