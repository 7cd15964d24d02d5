"""Quoting of CSV fields as in Jackson, the library of all of Flink's CSV formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["LONGEST_CHECKED", "check_characters", "first_safe", "jackson_quoter"]

LONGEST_CHECKED = 24
"""Jackson quotes longer fields without checking their characters (`CsvGenerator`: MAX_QUOTE_CHECK)."""


def first_safe(delimiter: str, quote: str) -> str:
    """Return the first character of the code table that needs no quotes."""
    return chr(max(ord(delimiter), ord(quote), ord("\r")) + 1)


def jackson_quoter(delimiter: str, quote: str | None, escape: str | None) -> Callable[[str], str]:
    """Return the function that quotes the text of a string field where Jackson does.

    Jackson uses a loose check. It quotes a long field, a field with a character up to the delimiter or the quote
    character in the code table, and a field with the escape character (a backslash if none is set).

    Args:
        delimiter: The column separator, one character.
        quote: The quote character; None disables quoting.
        escape: The escape character, or None.

    Example:
        >>> write = jackson_quoter(",", '"', None)
        >>> write("plain"), write("two words")
        ('plain', '"two words"')
    """
    if quote is None:
        return str
    safe = first_safe(delimiter, quote)
    always_quoted = escape or "\\"

    def written(text: str) -> str:
        is_checked = len(text) <= LONGEST_CHECKED and (text.isascii() or _utf_16_length(text) <= LONGEST_CHECKED)
        if not text or (is_checked and min(text) >= safe and always_quoted not in text):
            return text
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return quote + text.replace(quote, quote * 2) + quote

    return written


def check_characters(settings: Mapping[str, str | None]) -> None:
    """Raise `ValueError` for a setting that is not a single character; None means that it is disabled."""
    for name, value in settings.items():
        if value is not None and len(value) != 1:
            raise ValueError(f"the {name} must be a single character, found {value!r}")


def _utf_16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
