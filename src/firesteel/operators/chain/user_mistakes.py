"""What users probably meant, for errors that say only what Python could not do."""

from __future__ import annotations

import traceback

from firesteel.common.our_code import OUR_CODE

__all__ = ["advice_about"]

_NOT_ITERABLE = "object is not iterable"
_MANY = "a function with yield has many results for an element: use flat_map() in place of map()"
_NONE_OR_MANY = "a function of flat_map() or process() yields its results, or returns an iterable or None"


def advice_about(error: BaseException) -> str | None:
    """Return what to do about an error of user code, None if there is nothing to add.

    Example:
        >>> advice_about(TypeError("cannot pickle 'generator' object"))
        'a function with yield has many results for an element: use flat_map() in place of map()'
    """
    text = str(error)
    if not isinstance(error, TypeError):
        return None
    if "'generator' object" in text or "found generator" in text:
        return _MANY
    return _NONE_OR_MANY if text.endswith(_NOT_ITERABLE) and _is_raised_by_us(error) else None


def _is_raised_by_us(error: BaseException) -> bool:
    """Return whether our code iterates over what a user's function has returned."""
    frames = traceback.extract_tb(error.__traceback__)
    return all(frame.filename.startswith((OUR_CODE, "<frozen")) for frame in frames)
