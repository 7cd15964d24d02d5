"""The versions and cipher suites of TLS: `security.ssl.protocol` and `security.ssl.algorithms`, with Java's names."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Mapping
from typing import Any

from firesteel.common.options.option import InvalidOptionError, Option
from firesteel.common.options.security_options import SSL_ALGORITHMS, SSL_PROTOCOL

__all__ = ["restrict"]

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_SUITES_1_2 = {
    f"TLS_{exchange}_WITH_{cipher}": f"{exchange.replace('_', '-')}-{name}"
    for exchange in ("ECDHE_ECDSA", "ECDHE_RSA", "DHE_RSA")
    for cipher, name in {
        "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
        "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
        "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    }.items()
}
"""Java's names of the suites with forward secrecy and authenticated encryption, and OpenSSL's."""

_SUITES_1_3 = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""The suites of TLS 1.3, which Python's library always offers together."""


def restrict(context: ssl.SSLContext, configuration: Mapping[str, str]) -> None:
    """Restrict a context to the configured versions and suites; without options TLS 1.2 or newer.

    Raises:
        InvalidOptionError: a version or suite is unknown or insecure, or the options exclude each other.
    """
    allowed = [_VERSIONS[name] for name in _listed(configuration, SSL_PROTOCOL, _VERSIONS)] or list(_VERSIONS.values())
    suites = _listed(configuration, SSL_ALGORITHMS, [*_SUITES_1_2, *sorted(_SUITES_1_3)])
    if suites:
        allowed = _with_suites(context, allowed, suites)
    context.minimum_version, context.maximum_version = min(allowed), max(allowed)


def _listed(configuration: Mapping[str, str], option: Option[Any], known: Collection[str]) -> list[str]:
    found = [name.strip() for name in (option.of(configuration) or "").split(",") if name.strip()]
    for name in found:
        if name not in known:
            raise InvalidOptionError(f"option {option.key!r}: {name!r} is not supported; allowed: {', '.join(known)}")
    return found


def _with_suites(context: ssl.SSLContext, allowed: list[ssl.TLSVersion], suites: list[str]) -> list[ssl.TLSVersion]:
    """Set the suites and return the versions that have some of them."""
    newer = _SUITES_1_3.intersection(suites)
    if newer and newer != _SUITES_1_3:
        missing = ", ".join(sorted(_SUITES_1_3 - newer))
        raise InvalidOptionError(
            f"option {SSL_ALGORITHMS.key!r}: Python offers all suites of TLS 1.3 or none; add {missing}"
        )
    older = [_SUITES_1_2[name] for name in suites if name in _SUITES_1_2]
    if older:
        context.set_ciphers(":".join(older))
    has_suites = {ssl.TLSVersion.TLSv1_2: bool(older), ssl.TLSVersion.TLSv1_3: bool(newer)}
    left = [version for version in allowed if has_suites[version]]
    if not left:
        raise InvalidOptionError(f"option {SSL_ALGORITHMS.key!r} has no suite for the versions in {SSL_PROTOCOL.key!r}")
    return left
