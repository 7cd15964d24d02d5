"""Arguments of CSV sources and sinks in Flink 1 as today's options of the format csv."""

from __future__ import annotations


def csv_options(
    field_delimiter: str | None = None,
    line_delimiter: str | None = None,
    quote_character: str | None = None,
    ignore_first_line: bool | None = None,
    comment_prefix: str | None = None,
    ignore_parse_errors: bool | None = None,
) -> dict[str, str]:
    """Return the options of a format without quotes, unless a quote character is given.

    Raises:
        NotImplementedError: an argument has no option today.
    """
    _require("line delimiter", line_delimiter, (None, "\n"))
    _require("comment prefix", comment_prefix, (None, "#"))
    options = {"csv.field-delimiter": field_delimiter or ","}
    if quote_character:
        options["csv.quote-character"] = quote_character
    else:
        options["csv.disable-quote-character"] = "true"
    if comment_prefix:
        options["csv.allow-comments"] = "true"
    if ignore_first_line:
        options["csv.ignore-first-line"] = "true"
    if ignore_parse_errors:
        options["csv.ignore-parse-errors"] = "true"
    return options


def _require(what: str, found: object, allowed: tuple[object, ...]) -> None:
    if found not in allowed:
        values = ", ".join(repr(value) for value in allowed if value is not None)
        raise NotImplementedError(f"The format csv has no option for the {what} {found!r}; it is always {values}")
