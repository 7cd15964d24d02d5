"""The members of Java's named classes of characters, as Python's regular expressions list them."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby

_ASCII = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Space": r"\s",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Blank": r"\ \t",
    "ASCII": r"\x00-\x7f",
}
_CATEGORIES = {
    "IsAlphabetic": "L Nl",
    "IsLetter": "L",
    "IsDigit": "Nd",
    "IsUppercase": "Lu",
    "IsLowercase": "Ll",
    "IsTitlecase": "Lt",
    "IsPunctuation": "P",
    "IsControl": "Cc",
}
"""Binary properties of Unicode by categories; the few members of other categories are left out."""

_CATEGORY = re.compile("(?:Is)?(L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?)")


class UnknownClassError(KeyError):
    """A class of characters that Python's library does not know, such as a script or a block."""


@cache
def members_of(name: str) -> str:
    r"""Return the members of `\p{name}`, to be written between brackets.

    Raises:
        UnknownClassError: the class is not known.
    """
    if name in _ASCII:
        return _ASCII[name]
    if match := _CATEGORY.fullmatch(name):
        return _members((match[1],))
    if name in _CATEGORIES:
        return _members(tuple(_CATEGORIES[name].split()))
    raise UnknownClassError(name)


def _members(categories: tuple[str, ...]) -> str:
    found = (number for number in range(sys.maxunicode + 1) if unicodedata.category(chr(number)).startswith(categories))
    spans = []
    for _, group in groupby(enumerate(found), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in group]
        spans.append((numbers[0], numbers[-1]))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)
