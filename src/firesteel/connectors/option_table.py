"""The options of a table connector, as a table: which take effect, which do not, and which are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options


@dataclass(frozen=True)
class OptionTable:
    """The options of a connector. Any other option is unknown and refused.

    Attributes:
        required: Options that must be set.
        optional: Options that take effect.
        prefixes: Prefixes of options that take effect, each with a dot at its end.
        unused: Options that are accepted and have no effect, each with the reason.
        refused: Options of Flink's connector that are refused, each with the reason.
        formats: Options that name a format, whose own options are below its name.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[str, ...] = ()

    def read(self, values: Mapping[str, str], owner: str, below: tuple[str, ...] = ()) -> Options:
        """Return the options of a table, which are checked.

        Args:
            values: The options of the table.
            owner: The connector, for messages.
            below: More prefixes, which depend on the values.

        Raises:
            ValidationException: an option is missing, unknown or refused.
        """
        options = Options(values, owner)
        for key in sorted(values.keys() & self.refused.keys()):
            raise ValidationException(f"Option '{key}' of '{owner}' is not supported: {self.refused[key]}")
        names = [values[key] for key in self.formats if key in values]
        prefixes = (*self.prefixes, *below, *(f"{name}." for name in names))
        options.check(self.required, (*self.optional, *self.formats, *self.unused), prefixes)
        return options

    def all_options(self) -> Iterable[str]:
        """Return all options, with prefixes as `prefix.*`."""
        below = (f"{prefix}*" for prefix in self.prefixes)
        return (*self.required, *self.optional, *self.formats, *below, *self.unused, *self.refused)


def message_format(options: Options, columns: Sequence[Column], default: str | None = None) -> Format:
    """Return the format of messages with some columns, by the option `format` and those below its name.

    Raises:
        ValidationException: the format is missing or does not exist, or its options are invalid.
    """
    name = options.values.get("format", default)
    if name is None:
        raise ValidationException(
            "One or more required options are missing.\n\nMissing required options are:\n\nformat"
        )
    stored = Columns(tuple(column.name for column in columns), tuple(column.type for column in columns))
    return make_format(name, stored, options.below(f"{name}.", name), "messages")
