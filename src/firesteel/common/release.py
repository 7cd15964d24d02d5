"""The release of this package, which processes of other releases name in their messages."""

from __future__ import annotations

from functools import cache

__all__ = ["release"]


@cache
def release() -> str:
    """Return the version of the installed package, such as `0.1.0`.

    Example:
        >>> release().split(".")[0].isdigit()
        True
    """
    from importlib.metadata import PackageNotFoundError, version  # late import: few processes ask

    try:
        return version("firesteel")
    except PackageNotFoundError:  # The sources are on the path, and nothing is installed.
        return "0"
