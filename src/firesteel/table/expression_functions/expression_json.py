"""JSON functions of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of
from firesteel.table.expression_functions.expression_enums import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from firesteel.table.planner.parse.parse_calls import JSON_OPTION
from firesteel.table.syntax.unresolved import Apply, Lit, TypeName, Unresolved
from firesteel.table.types import DataTypes

if TYPE_CHECKING:
    from firesteel.table.expression import Expression
    from firesteel.table.types import DataType

_WRAPPERS = {
    JsonQueryWrapper.WITHOUT_ARRAY: "WITHOUT",
    JsonQueryWrapper.CONDITIONAL_ARRAY: "WITH CONDITIONAL",
    JsonQueryWrapper.UNCONDITIONAL_ARRAY: "WITH UNCONDITIONAL",
}


def json_option(name: str, *values: Unresolved) -> Apply:
    """Return the node of a clause of a JSON function."""
    return Apply(JSON_OPTION, (Lit(name), *values))


def _value_option(event: str, behaviour: JsonValueOnEmptyOrError, default: object) -> Apply:
    values = (node_of(default),) if behaviour is JsonValueOnEmptyOrError.DEFAULT else ()
    return json_option(event, Lit(behaviour.name), *values)


class JsonMethods(ExpressionBase):
    """JSON functions. Clauses of SQL's syntax become options, as the parser makes them."""

    def is_json(self, json_type: JsonType | None = None) -> Expression[Any]:
        """Return whether a string is JSON; false for NULL.

        Args:
            json_type: The kind of JSON; None accepts any.
        """
        kind = "VALUE" if json_type is None else json_type.name
        return self._call(f"IS JSON {kind}")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[Any]:
        """Return whether a path finds a value other than null (JSON_EXISTS).

        Args:
            path: A JSON path such as `lax $.name` or `strict $.name[0]`; `lax` is the default.
            on_error: Result for text that is not JSON, or a strict path without a match; None means FALSE.
        """
        options = () if on_error is None else (json_option("ERROR", Lit(on_error.name)),)
        return self._wrap(Apply("JSON_EXISTS", (self._node, Lit(path), *options)))

    def json_value(
        self,
        path: str,
        returning_type: DataType = DataTypes.STRING(),  # noqa: B008 - immutable
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: object = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: object = None,
    ) -> Expression[Any]:
        """Return the scalar that a path finds (JSON_VALUE).

        Args:
            path: A JSON path such as `lax $.name` or `strict $.name[0]`; `lax` is the default.
            returning_type: STRING, BOOLEAN, INT or DOUBLE; a scalar that cannot be converted fails the job.
            on_empty: Result if nothing is found, or an object or array in lax mode.
            default_on_empty: The value, if `on_empty` is DEFAULT.
            on_error: Result for text that is not JSON, and for errors of a strict path.
            default_on_error: The value, if `on_error` is DEFAULT.
        """
        options = (
            json_option("RETURNING", TypeName(returning_type)),
            _value_option("EMPTY", on_empty, default_on_empty),
            _value_option("ERROR", on_error, default_on_error),
        )
        return self._wrap(Apply("JSON_VALUE", (self._node, Lit(path), *options)))

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression[Any]:
        """Return the object or array that a path finds, as JSON text (JSON_QUERY).

        Args:
            path: A JSON path such as `lax $.name` or `strict $.name[0]`; `lax` is the default.
            wrapping_behavior: Whether to put the result into an array: never, unless it is one, or always.
            on_empty: Result if nothing is found, or a scalar in lax mode.
            on_error: Result for text that is not JSON, and for errors of a strict path.
        """
        options = (
            json_option("WRAPPER", Lit(_WRAPPERS[wrapping_behavior])),
            json_option("EMPTY", Lit(on_empty.name.replace("_", " "))),
            json_option("ERROR", Lit(on_error.name.replace("_", " "))),
        )
        return self._wrap(Apply("JSON_QUERY", (self._node, Lit(path), *options)))

    def json_quote(self) -> Expression[Any]:
        """Call JSON_QUOTE."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Expression[Any]:
        """Call JSON_UNQUOTE."""
        return self._call("JSON_UNQUOTE")
