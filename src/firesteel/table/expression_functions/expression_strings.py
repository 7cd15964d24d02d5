"""String functions of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of, unary
from firesteel.table.syntax.unresolved import Apply, Lit

if TYPE_CHECKING:
    from firesteel.table.expression import Expression


class StringMethods(ExpressionBase):
    """String functions. Each method calls Flink's SQL function of the same name unless it says otherwise."""

    ascii = unary("ASCII", "The code of the first character.")
    char_length = unary("CHAR_LENGTH", "The number of characters.")
    chr = unary("CHR", "The character of a code.")
    from_base64 = unary("FROM_BASE64", "The text of a base64 string.")
    init_cap = unary("INITCAP", "Each word with an upper-case first letter.")
    lower_case = unary("LOWER", "The text in lower case.")
    md5 = unary("MD5", "The MD5 digest as hexadecimal text.")
    reverse = unary("REVERSE", "The text backwards.")
    sha1 = unary("SHA1", "The SHA-1 digest as hexadecimal text.")
    sha224 = unary("SHA224", "The SHA-224 digest as hexadecimal text.")
    sha256 = unary("SHA256", "The SHA-256 digest as hexadecimal text.")
    sha384 = unary("SHA384", "The SHA-384 digest as hexadecimal text.")
    sha512 = unary("SHA512", "The SHA-512 digest as hexadecimal text.")
    to_base64 = unary("TO_BASE64", "The text as base64.")
    upper_case = unary("UPPER", "The text in upper case.")

    def btrim(self, trim_str: object = None) -> Expression[Any]:
        """Remove characters from both ends (BTRIM).

        Args:
            trim_str: The characters, in any order; None removes spaces.
        """
        return self._call("BTRIM", trim_str)

    def concat(self, other: object) -> Expression[Any]:
        """Return both strings as one (CONCAT).

        Args:
            other: The second string; if it is NULL, so is the result.
        """
        return self._call("CONCAT", other)

    def decode(self, charset: object) -> Expression[Any]:
        """Return bytes as a string (DECODE).

        Args:
            charset: US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16; another one fails the job.
        """
        return self._call("DECODE", charset)

    def elt(self, expr: object, *exprs: object) -> Expression[Any]:
        """Return one of several strings, with this number as its position from 1 (ELT).

        Args:
            expr: String at position 1.
            exprs: Strings at the positions from 2; the result is NULL if there is no such position.
        """
        return self._call("ELT", expr, *exprs)

    def encode(self, charset: object) -> Expression[Any]:
        """Return a string as bytes (ENCODE).

        Args:
            charset: US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16; another one fails the job.
        """
        return self._call("ENCODE", charset)

    def ends_with(self, end_expr: object) -> Expression[Any]:
        """Return whether the string or byte string ends with another one (ENDSWITH).

        Args:
            end_expr: The end; true if it is empty.
        """
        return self._call("ENDSWITH", end_expr)

    def inet_aton(self) -> Expression[Any]:
        """Call INET_ATON."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Expression[Any]:
        """Call INET_NTOA."""
        return self._call("INET_NTOA")

    def instr(self, s: object) -> Expression[Any]:
        """Return the position of the first occurrence of another string in this one (INSTR).

        Args:
            s: The string to search for.

        Returns:
            A position from 1; 0 if there is none.
        """
        return self._call("INSTR", s)

    def left(self, length: object) -> Expression[Any]:
        """Return the beginning of the string (LEFT).

        Args:
            length: Number of characters; less than 1 returns an empty string.
        """
        return self._call("LEFT", length)

    def like(self, pattern: object = None, escape: object = None) -> Expression[Any]:
        """Return whether the whole string matches a pattern (LIKE).

        Args:
            pattern: `%` stands for any characters, `_` for one.
            escape: Character before a `%` or `_` that stands for itself; None means a backslash.
        """
        return self._call("LIKE", pattern, escape)

    def locate(self, s: object, pos: object = None) -> Expression[Any]:
        """Return the position of the first occurrence of this string in another one (LOCATE).

        Args:
            s: The string to search in.
            pos: Position from 1 at which the search begins; None means 1.

        Returns:
            A position from 1; 0 if there is none.
        """
        return self._call("LOCATE", s, pos)

    def lpad(self, length: object, pad: object) -> Expression[Any]:
        """Fill the string up on the left, or cut it off, to a length (LPAD).

        Args:
            length: Number of characters of the result; NULL results from a negative one.
            pad: Characters to repeat; NULL results if it is empty.
        """
        return self._call("LPAD", length, pad)

    def ltrim(self, trim_str: object = None) -> Expression[Any]:
        """Remove characters from the beginning (LTRIM).

        Args:
            trim_str: The characters, in any order; None removes spaces.
        """
        return self._call("LTRIM", trim_str)

    def overlay(self, new_string: object, starting: object, length: object = None) -> Expression[Any]:
        """Replace a part of the string (OVERLAY).

        Args:
            new_string: The replacement.
            starting: Position from 1 of the part; if it is outside, the string is returned unchanged.
            length: Number of characters of the part; None means the length of `new_string`.
        """
        return self._call("OVERLAY", new_string, starting, length)

    def parse_url(self, part_to_extract: object, key: object = None) -> Expression[Any]:
        """Return a part of a URL (PARSE_URL).

        Args:
            part_to_extract: HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE or USERINFO; the result is NULL for
                others.
            key: Name of a parameter of the query, for QUERY only; None returns the whole part.
        """
        return self._call("PARSE_URL", part_to_extract, key)

    def position(self, haystack: object = None) -> Expression[Any]:
        """Return the position of the first occurrence of this string in another one (POSITION).

        Args:
            haystack: The string to search in.

        Returns:
            A position from 1; 0 if there is none.
        """
        return self._call("POSITION", haystack)

    def printf(self, *obj: object) -> Expression[Any]:
        """Format values with this string as the format (PRINTF).

        Args:
            obj: The values, formatted by the rules of Java's `String.format` (`%d`, `%,d`, `%2$s`, `%b`, `%5.2f`, but
                not `%t`, `%h` and `%a`). A NULL is shown as `null`; the result is NULL if a value does not fit.
        """
        return self._call("PRINTF", *obj)

    def regexp(self, regex: object) -> Expression[Any]:
        """Return whether a regular expression matches some part of the string (REGEXP).

        Args:
            regex: In Java's syntax; an empty one matches nothing, and an invalid one fails the job.
        """
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: object) -> Expression[Any]:
        """Return the number of matches (REGEXP_COUNT).

        Args:
            regex: In Java's syntax; an invalid one returns NULL.
        """
        return self._call("REGEXP_COUNT", regex)

    def regexp_extract(self, regex: object, extract_index: object = None) -> Expression[Any]:
        """Return the first match, or a group of it (REGEXP_EXTRACT).

        Args:
            regex: In Java's syntax; NULL is returned for an invalid one, or without a match.
            extract_index: Number of the group; None means 0, the whole match.
        """
        return self._call("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: object, extract_index: object = None) -> Expression[Any]:
        """Return a group of all matches as an array (REGEXP_EXTRACT_ALL).

        Args:
            regex: In Java's syntax; NULL is returned for an invalid one.
            extract_index: Number of the group, 0 for whole matches; None means 1. NULL is returned if there is no such
                group.
        """
        return self._call("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: object) -> Expression[Any]:
        """Return the position of the first match (REGEXP_INSTR).

        Args:
            regex: In Java's syntax; an invalid one returns NULL.

        Returns:
            A position from 1; 0 if there is no match.
        """
        return self._call("REGEXP_INSTR", regex)

    def regexp_replace(self, regex: object, replacement: object) -> Expression[Any]:
        """Replace all matches (REGEXP_REPLACE).

        Args:
            regex: In Java's syntax; an invalid one returns NULL.
            replacement: Taken as it is: `$1` does not stand for a group.
        """
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_substr(self, regex: object) -> Expression[Any]:
        """Return the first match (REGEXP_SUBSTR).

        Args:
            regex: In Java's syntax; NULL is returned for an invalid one, or without a match.
        """
        return self._call("REGEXP_SUBSTR", regex)

    def repeat(self, n: object) -> Expression[Any]:
        """Return the string several times in a row (REPEAT).

        Args:
            n: Number of times; less than 1 returns an empty string.
        """
        return self._call("REPEAT", n)

    def replace(self, search: object = None, replacement: object = None) -> Expression[Any]:
        """Replace all occurrences of a string (REPLACE).

        Args:
            search: The string to search for; it is no regular expression.
            replacement: The string that replaces it.
        """
        return self._call("REPLACE", search, replacement)

    def right(self, length: object) -> Expression[Any]:
        """Return the end of the string (RIGHT).

        Args:
            length: Number of characters; less than 1 returns an empty string.
        """
        return self._call("RIGHT", length)

    def rpad(self, length: object, pad: object) -> Expression[Any]:
        """Fill the string up on the right, or cut it off, to a length (RPAD).

        Args:
            length: Number of characters of the result; NULL results from a negative one.
            pad: Characters to repeat; NULL results if it is empty.
        """
        return self._call("RPAD", length, pad)

    def rtrim(self, trim_str: object = None) -> Expression[Any]:
        """Remove characters from the end (RTRIM).

        Args:
            trim_str: The characters, in any order; None removes spaces.
        """
        return self._call("RTRIM", trim_str)

    def sha2(self, hash_length: object) -> Expression[Any]:
        """Return the SHA-2 digest as hexadecimal text (SHA2).

        Args:
            hash_length: 224, 256, 384 or 512 bits; another length fails the job.
        """
        return self._call("SHA2", hash_length)

    def similar(self, pattern: object = None) -> Expression[Any]:
        """Return whether the whole string matches a regular expression of SQL (SIMILAR TO).

        Args:
            pattern: `%` and `_` as in `like`, with `|`, `*`, `+`, `?`, parentheses and brackets.
        """
        return self._call("SIMILAR TO", pattern)

    def split(self, delimiter: object) -> Expression[Any]:
        """Split the string into an array (SPLIT).

        Args:
            delimiter: String between two elements; an empty one splits the string into characters.
        """
        return self._call("SPLIT", delimiter)

    def split_index(self, separator: object, index: object) -> Expression[Any]:
        """Return one part of the split string (SPLIT_INDEX).

        Args:
            separator: String between two parts, or the code of a character from 0 to 255.
            index: Position from 0; NULL is returned if there is no such part.
        """
        return self._call("SPLIT_INDEX", separator, index)

    def starts_with(self, start_expr: object) -> Expression[Any]:
        """Return whether the string or byte string begins with another one (STARTSWITH).

        Args:
            start_expr: The beginning; true if it is empty.
        """
        return self._call("STARTSWITH", start_expr)

    def str_to_map(self, list_delimiter: object = None, key_value_delimiter: object = None) -> Expression[Any]:
        """Convert a string such as `a=1,b=2` to a map of strings (STR_TO_MAP).

        Args:
            list_delimiter: Regular expression between two entries; None means `,`.
            key_value_delimiter: Regular expression between key and value; None means `=`.
        """
        return self._call("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def substr(self, begin_index: object, length: object = None) -> Expression[Any]:
        """Return a part of the string (SUBSTR).

        Args:
            begin_index: First position, from 1; a negative one counts from the end.
            length: Number of characters; None means up to the end, and a negative number returns NULL.
        """
        return self._call("SUBSTR", begin_index, length)

    def substring(self, begin_index: object, length: object = None) -> Expression[Any]:
        """Return a part of the string (SUBSTRING).

        Args:
            begin_index: First position, from 1; a negative one counts from the end.
            length: Number of characters; None means up to the end, and a negative number returns NULL.
        """
        return self._call("SUBSTRING", begin_index, length)

    def translate(self, from_str: object, to_str: object) -> Expression[Any]:
        """Replace single characters (TRANSLATE).

        Args:
            from_str: The characters to replace; NULL or an empty string leaves the string unchanged.
            to_str: Their replacements, by position; characters without one are removed.
        """
        return self._call("TRANSLATE", from_str, to_str)

    def trim(self, character: object = None) -> Expression[Any]:
        """Remove characters from both ends (TRIM).

        Args:
            character: The characters, in any order; None removes spaces.
        """
        return self._trim("BOTH", character)

    def trim_leading(self, character: object = None) -> Expression[Any]:
        """Remove characters from the beginning (TRIM).

        Args:
            character: The characters, in any order; None removes spaces.
        """
        return self._trim("LEADING", character)

    def trim_trailing(self, character: object = None) -> Expression[Any]:
        """Remove characters from the end (TRIM).

        Args:
            character: The characters, in any order; None removes spaces.
        """
        return self._trim("TRAILING", character)

    def _trim(self, where: str, character: object) -> Expression[Any]:
        return self._wrap(Apply("TRIM", (Lit(where), node_of(" " if character is None else character), self._node)))

    def url_decode(self) -> Expression[Any]:
        """Call URL_DECODE."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Expression[Any]:
        """Call URL_ENCODE."""
        return self._call("URL_ENCODE")
