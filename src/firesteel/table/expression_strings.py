"""String functions of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression_base import ExpressionBase, node_of, unary
from firesteel.table.unresolved import Apply, Lit

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

    def btrim(self, trim_str: Any = None) -> Expression[Any]:
        """Call BTRIM."""
        return self._call("BTRIM", trim_str)

    def concat(self, other: Any) -> Expression[Any]:
        """Call CONCAT."""
        return self._call("CONCAT", other)

    def decode(self, charset: Any) -> Expression[Any]:
        """Call DECODE."""
        return self._call("DECODE", charset)

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """Call ELT: the text at this index among the arguments."""
        return self._call("ELT", expr, *exprs)

    def encode(self, charset: Any) -> Expression[Any]:
        """Call ENCODE."""
        return self._call("ENCODE", charset)

    def ends_with(self, end_expr: Any) -> Expression[Any]:
        """Call ENDSWITH."""
        return self._call("ENDSWITH", end_expr)

    def inet_aton(self) -> Expression[Any]:
        """Call INET_ATON."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Expression[Any]:
        """Call INET_NTOA."""
        return self._call("INET_NTOA")

    def instr(self, s: Any) -> Expression[Any]:
        """Call INSTR."""
        return self._call("INSTR", s)

    def left(self, length: Any) -> Expression[Any]:
        """Call LEFT."""
        return self._call("LEFT", length)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression[Any]:
        """Call LIKE."""
        return self._call("LIKE", pattern, escape)

    def locate(self, s: Any, pos: Any = None) -> Expression[Any]:
        """Call LOCATE."""
        return self._call("LOCATE", s, pos)

    def lpad(self, length: Any, pad: Any) -> Expression[Any]:
        """Call LPAD."""
        return self._call("LPAD", length, pad)

    def ltrim(self, trim_str: Any = None) -> Expression[Any]:
        """Call LTRIM."""
        return self._call("LTRIM", trim_str)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression[Any]:
        """Call OVERLAY."""
        return self._call("OVERLAY", new_string, starting, length)

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression[Any]:
        """Call PARSE_URL."""
        return self._call("PARSE_URL", part_to_extract, key)

    def position(self, haystack: Any = None) -> Expression[Any]:
        """Call POSITION: where this text begins in another one, from 1."""
        return self._call("POSITION", haystack)

    def printf(self, *obj: Any) -> Expression[Any]:
        """Call PRINTF."""
        return self._call("PRINTF", *obj)

    def regexp(self, regex: Any) -> Expression[Any]:
        """Call REGEXP."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression[Any]:
        """Call REGEXP_COUNT."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """Call REGEXP_EXTRACT."""
        return self._call("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """Call REGEXP_EXTRACT_ALL."""
        return self._call("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression[Any]:
        """Call REGEXP_INSTR."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression[Any]:
        """Call REGEXP_REPLACE."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_substr(self, regex: Any) -> Expression[Any]:
        """Call REGEXP_SUBSTR."""
        return self._call("REGEXP_SUBSTR", regex)

    def repeat(self, n: Any) -> Expression[Any]:
        """Call REPEAT."""
        return self._call("REPEAT", n)

    def replace(self, search: Any = None, replacement: Any = None) -> Expression[Any]:
        """Call REPLACE."""
        return self._call("REPLACE", search, replacement)

    def right(self, length: Any) -> Expression[Any]:
        """Call RIGHT."""
        return self._call("RIGHT", length)

    def rpad(self, length: Any, pad: Any) -> Expression[Any]:
        """Call RPAD."""
        return self._call("RPAD", length, pad)

    def rtrim(self, trim_str: Any = None) -> Expression[Any]:
        """Call RTRIM."""
        return self._call("RTRIM", trim_str)

    def sha2(self, hash_length: Any) -> Expression[Any]:
        """Call SHA2."""
        return self._call("SHA2", hash_length)

    def similar(self, pattern: Any = None) -> Expression[Any]:
        """Call SIMILAR TO."""
        return self._call("SIMILAR TO", pattern)

    def split(self, delimiter: Any) -> Expression[Any]:
        """Call SPLIT."""
        return self._call("SPLIT", delimiter)

    def split_index(self, separator: Any, index: Any) -> Expression[Any]:
        """Call SPLIT_INDEX."""
        return self._call("SPLIT_INDEX", separator, index)

    def starts_with(self, start_expr: Any) -> Expression[Any]:
        """Call STARTSWITH."""
        return self._call("STARTSWITH", start_expr)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression[Any]:
        """Call STR_TO_MAP."""
        return self._call("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def substr(self, begin_index: Any, length: Any = None) -> Expression[Any]:
        """Call SUBSTR."""
        return self._call("SUBSTR", begin_index, length)

    def substring(self, begin_index: Any, length: Any = None) -> Expression[Any]:
        """Call SUBSTRING."""
        return self._call("SUBSTRING", begin_index, length)

    def translate(self, from_str: Any, to_str: Any) -> Expression[Any]:
        """Call TRANSLATE."""
        return self._call("TRANSLATE", from_str, to_str)

    def trim(self, character: Any = None) -> Expression[Any]:
        """Remove a character, by default blanks, from both ends."""
        return self._trim("BOTH", character)

    def trim_leading(self, character: Any = None) -> Expression[Any]:
        """Remove a character, by default blanks, from the beginning."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression[Any]:
        """Remove a character, by default blanks, from the end."""
        return self._trim("TRAILING", character)

    def _trim(self, where: str, character: Any) -> Expression[Any]:
        return self._wrap(Apply("TRIM", (Lit(where), node_of(" " if character is None else character), self._node)))

    def url_decode(self) -> Expression[Any]:
        """Call URL_DECODE."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Expression[Any]:
        """Call URL_ENCODE."""
        return self._call("URL_ENCODE")
