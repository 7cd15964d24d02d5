"""The syntax of CSV: how lines are split into the texts of fields. Flink: Jackson's `CsvSchema` and `CsvDecoder`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from firesteel.common.values.jackson_csv import check_characters
from firesteel.common.values.java_parsing import trimmed

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
csv.field_size_limit(1 << 30)


@dataclass(frozen=True)
class CsvDialect:
    """The syntax of CSV, shared by all readers and writers.

    Attributes:
        field_delimiter: The character between two fields.
        line_delimiter: Text after each line, when writing; all common ones can be read.
        array_element_delimiter: Text between two elements of an array or row.
        quote_character: The character around quoted fields; None disables quoting.
        escape_character: The character before an escaped character; None disables escaping.
        null_literal: Text that stands for NULL; None writes NULL as empty text and reads no text as NULL.
        allow_comments: Whether lines that begin with `#`, and blank lines, are skipped.
        ignore_additional_fields: Whether fields after those of the columns are skipped, instead of being an error.
        ignore_parse_errors: Whether invalid fields become NULL and invalid records are skipped.
        plain_decimals: Whether DECIMAL columns are written with all digits of their scale, without an exponent.
    """

    field_delimiter: str = ","
    line_delimiter: str = "\n"
    array_element_delimiter: str = ";"
    quote_character: str | None = '"'
    escape_character: str | None = None
    null_literal: str | None = None
    allow_comments: bool = False
    ignore_additional_fields: bool = False
    ignore_parse_errors: bool = False
    plain_decimals: bool = False

    def __post_init__(self) -> None:
        check_characters(
            {
                "field delimiter": self.field_delimiter,
                "quote character": self.quote_character,
                "escape character": self.escape_character,
            }
        )

    def records(self, lines: Iterable[str]) -> CsvRecords:
        """Return an iterator over the records of lines.

        Args:
            lines: The lines with their ends; a quoted field may span several.
        """
        return CsvRecords(lines, self)

    def first_record(self, text: str) -> list[str] | None:
        """Return the fields of the first record of a message, None if it has none; Flink ignores the others.

        Raises:
            ValueError: the record is malformed, or there is neither a record nor a comment.
        """
        fields = next(self.records(io.StringIO(text, newline="")), None)
        if fields is None and not self.allow_comments:
            raise ValueError("there is no record")
        return fields

    def first_records(self, texts: list[str]) -> list[list[str] | None]:
        """Return `first_record` of each text, faster where all texts are simple.

        Raises:
            ValueError: a text has no record, or a malformed one.
        """
        if self.escape_character is None and not self.allow_comments and all(texts):
            try:
                found = list(_reader([text.rstrip("\r\n") for text in texts], self))
            except csv.Error:
                found = []
            if len(found) == len(texts):  # else an open quote joined a text with the next
                return [fields or [""] for fields in found]
        return list(map(self.first_record, texts))


def _reader(lines: Iterable[str], dialect: CsvDialect) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=dialect.field_delimiter,
        quotechar=dialect.quote_character,
        quoting=csv.QUOTE_MINIMAL if dialect.quote_character else csv.QUOTE_NONE,
        strict=True,
    )


class CsvRecords:
    """An iterator over the fields of each record.

    It may be continued after the ValueError of a malformed record.

    Attributes:
        line: The number of the line read last, from 1.
    """

    def __init__(self, lines: Iterable[str], dialect: CsvDialect) -> None:
        self.line = 0
        self._lines = iter(lines)
        self._of_record: list[str] = []
        self._skips_comments = dialect.allow_comments
        self._quote, self._escape = dialect.quote_character or "", dialect.escape_character
        self._grammar = _grammar(dialect)
        self._reader = _reader(self._next_lines(), dialect) if dialect.escape_character is None else None

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._of_record.clear()
        if self._reader is None:
            return self._parsed(next(self._next_lines()))
        try:
            return next(self._reader) or [""]  # an empty line is one empty field
        except csv.Error:  # its reader is much faster, but knows no blanks after a closing quote
            return self._parsed("".join(self._of_record))

    def _next_lines(self) -> Iterator[str]:
        for line in self._lines:
            self.line += 1
            if self._skips_comments and not self._of_record and trimmed(line)[:1] in ("", "#"):
                continue
            self._of_record.append(line)
            yield line

    def _parsed(self, text: str) -> list[str]:
        while (fields := self._grammar.fields(text)) is None:
            text += self._rest(text)
        return fields

    def _rest(self, text: str) -> str:
        """Return the next line of a record; where a quote is open, all lines up to one with a quote."""
        ends_escaped = self._escape is not None and text.rstrip("\r\n").endswith(self._escape)
        lines: list[str] = []
        for line in self._next_lines():
            lines.append(line)
            if ends_escaped or self._quote in line:  # not line by line, as all is parsed again
                return "".join(lines)
        raise ValueError("unexpected end of data: a closing quote is missing")


@lru_cache(16)
def _grammar(dialect: CsvDialect) -> _Grammar:
    return _Grammar(dialect)


class _Grammar:
    """Splits one record by Jackson's rules in full, but slowly."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._separator = dialect.field_delimiter
        characters = (self._separator, dialect.quote_character, dialect.escape_character)
        separator, quote, escape = (re.escape(one or "") for one in characters)
        escaped = rf"|{escape}[\s\S]" if escape else ""
        end = rf"({separator}|\r\n|\r|\n|\Z)"
        plain = rf"((?:[^{separator}\r\n{escape}]{escaped})*){end}"
        inner = rf"{quote}((?:[^{quote}{escape}]|{quote}{quote}{escaped})*)"
        blanks = rf"(?:(?!{separator})[\x00-\x09\x0b\x0c\x0e-\x20])*"
        self._quoted = re.compile(rf"{inner}{quote}{blanks}{end}") if quote else None
        self._open = re.compile(rf"{inner}\Z") if quote else None
        self._plain = re.compile(rf"(?!{quote}){plain}" if quote else plain)
        self._in_quotes = re.compile(rf"{quote}{quote}{escaped}")
        self._escaped = re.compile(escaped[1:]) if escape else None

    def fields(self, text: str) -> list[str] | None:
        """Return the fields of the first record of a text, None if the record goes on after it.

        Raises:
            ValueError: something else follows a closing quote.
        """
        fields: list[str] = []
        place, end = 0, self._separator
        while end == self._separator:
            quoted = self._quoted.match(text, place) if self._quoted else None
            found = quoted or self._plain.match(text, place)
            if found is None:
                if self._open is not None and self._open.match(text, place):
                    return None
                raise ValueError(f"a separator or a line end was expected within {text[place : place + 100]!r}")
            special = self._in_quotes if quoted else self._escaped
            fields.append(found[1] if special is None else special.sub(_meaning, found[1]))
            place, end = found.end(), found[2]
        return None if not end and text[-1:] in ("\r", "\n") else fields  # then the line end was escaped


def _meaning(found: re.Match[str]) -> str:
    """Return the character that two quotes, or the escape character and another one, stand for."""
    return _ESCAPED.get(found[0][1], found[0][1])
