"""Fields of whole columns as they stand in CSV."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.pylist import pylist
from firesteel.common.values.jackson_csv import LONGEST_CHECKED, first_safe, jackson_quoter
from firesteel.connectors.formats.csv.dialect import CsvDialect


def quoted_texts(texts: pa.Array, dialect: CsvDialect) -> pa.Array:
    """Return texts with quotes where Jackson writes them; `jackson_quoter` says where that is."""
    quote, escape = dialect.quote_character, dialect.escape_character
    if quote is None:
        return texts
    needs = pc.or_(
        pc.match_substring_regex(
            texts, f"[\\x00-{re.escape(chr(ord(first_safe(dialect.field_delimiter, quote)) - 1))}]"
        ),
        pc.or_(pc.greater(pc.utf8_length(texts), LONGEST_CHECKED), pc.match_substring(texts, escape or "\\")),
    )
    # The length that decides is that in UTF-16.
    rest = pc.invert(pc.string_is_ascii(texts)) if escape is None else pc.is_valid(texts)
    doubled = pc.replace_substring(texts, quote, quote * 2)
    found = pc.if_else(needs, pc.binary_join_element_wise(quote, doubled, quote, ""), texts)
    rest = pc.fill_null(rest, False)
    if not pc.any(rest).as_py():
        return found
    write = jackson_quoter(dialect.field_delimiter, quote, escape)
    return pc.replace_with_mask(
        found, rest, pa.array([write(text) for text in pylist(texts.filter(rest))], pa.string())
    )
