"""Models as a program describes them (module as `pyflink.table.model_descriptor`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import option_key, option_text

__all__ = ["ModelDescriptor"]


class ModelDescriptor:
    """A model: its provider, schemas and options (Flink: `ModelDescriptor`). Models are kept, and can't be run.

    `for_provider` returns a builder, which converts the values of options to text.

    Args:
        input_schema: Columns that the model reads; None makes `create_model` raise an error.
        output_schema: Columns that it would return; None makes `create_model` raise an error.
        options: Options as text by key, including `provider`; used without a copy.
        comment: Text for people; None for none.
    """

    def __init__(
        self,
        input_schema: Schema | None,
        output_schema: Schema | None,
        options: dict[str, str],
        comment: str | None,
    ) -> None:
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._options = options
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Return a builder for a provider."""
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """Return the schema of the input."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """Return the schema of the output."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    class Builder:
        """A builder of `ModelDescriptor`."""

        def __init__(self, provider: str) -> None:
            self._options: dict[str, str] = {"provider": provider}
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """Set the schema of the input."""
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """Set the schema of the output."""
            self._output = output_schema
            return self

        def option(self, key: str | ConfigOption[Any], value: object) -> ModelDescriptor.Builder:
            """Set an option."""
            self._options[option_key(key)] = option_text(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Set the comment."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """Return the descriptor."""
            return ModelDescriptor(self._input, self._output, dict(self._options), self._comment)
