"""Packages that only some features need: imported late, and named with their extra if they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def optional_package(user: str, package: str, extra: str) -> Iterator[None]:
    """Let an import in the block say what is to be installed.

    Args:
        user: What needs the package.
        package: Its name in a package index.
        extra: The extra of firesteel that brings it.

    Raises:
        ModuleNotFoundError: the package is not installed.

    Example:
        >>> with optional_package("This example", "pathlib", "dev"):
        ...     import pathlib
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{user} needs the package {package}: pip install 'firesteel[{extra}]'", name=error.name
        ) from None
