"""Translation of Flink's file system options to arguments of fsspec's file systems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from firesteel.common.options.file_options import AZURE_KEY, S3_NAMES, S3_PREFIXES

__all__ = ["fsspec_options"]

_TIMEOUT_S = 20
_ATTEMPTS = 8


def fsspec_options(protocol: str, path: str, configuration: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a protocol's file system.

    Listings are never cached, because others may write while a directory is monitored.

    Example:
        >>> fsspec_options("memory", "memory://in", {})
        {'use_listings_cache': False}
    """
    options: dict[str, Any] = {"use_listings_cache": False}
    if protocol == "s3":
        options |= _s3_options(configuration)
    elif protocol == "abfs":
        options |= _azure_options(path, configuration)
    elif protocol == "hdfs" and (found := re.match(r"hdfs://([^/:]+)(?::(\d+))?", path)):
        options |= {"host": found[1], "port": int(found[2] or 0)}
    return options


def _s3_options(configuration: Mapping[str, str]) -> dict[str, object]:
    """Return the arguments for Flink's `s3.` options, also under the prefixes of its S3 file systems (`fs.s3a.`)."""

    def value(what: str) -> str | None:
        keys = [prefix + name for prefix in S3_PREFIXES for name in S3_NAMES[what]]
        return next((configuration[key] for key in keys if key in configuration), None)

    endpoint, region = value("endpoint"), value("region")
    is_plain = (value("tls") or "true").lower() == "false"
    if endpoint is not None and "://" not in endpoint:
        endpoint = f"{'http' if is_plain else 'https'}://{endpoint}"
    by_path = (value("by_path") or "false").lower() == "true"
    client: dict[str, Any] = {
        "connect_timeout": _TIMEOUT_S,
        "read_timeout": _TIMEOUT_S,
        "retries": {"max_attempts": _ATTEMPTS, "mode": "standard"},
    }
    if by_path:
        client["s3"] = {"addressing_style": "path"}
    options = {
        "key": value("key"),
        "secret": value("secret"),
        "token": value("token"),
        "endpoint_url": endpoint,
        "client_kwargs": {"region_name": region} if region is not None else None,
        "config_kwargs": client,
    }
    return {name: option for name, option in options.items() if option is not None}


def _azure_options(path: str, configuration: Mapping[str, str]) -> dict[str, object]:
    """Return the arguments for the path `abfss://container@<account>.<host>/...`.

    The key is that of `fs.azure.account.key.<account>.<host>`.
    """
    account = re.match(r"\w+://[^/@]+@([^/.]+)\.", path)
    if account is None:
        return {}
    prefix = f"{AZURE_KEY}{account[1]}."
    keys = [value for key, value in configuration.items() if key.startswith(prefix)]
    return {"account_name": account[1], **({"account_key": keys[0]} if keys else {})}
