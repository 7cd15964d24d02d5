"""Functions that get a whole row as their only argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.types import Row
from firesteel.table.functions.udf_base import FunctionContext, UserDefinedFunction

if TYPE_CHECKING:
    import pandas


class RowInput(UserDefinedFunction):
    """A function whose arguments are put into one row before it is called.

    Attributes:
        function: The user's function.

    Args:
        function: The user's function, or the object of a function class.
        names: Names of the fields.
        is_pandas: Arguments are columns, which become a `pandas.DataFrame`.
    """

    def __init__(self, function: Any, names: tuple[str, ...], is_pandas: bool) -> None:
        self.function = function
        self._names = names
        self._is_pandas = is_pandas

    def open(self, function_context: FunctionContext) -> None:
        """Prepare the function."""
        if isinstance(self.function, UserDefinedFunction):
            self.function.open(function_context)

    def close(self) -> None:
        """Release the function's resources."""
        if isinstance(self.function, UserDefinedFunction):
            self.function.close()

    def is_deterministic(self) -> bool:
        """Return whether equal rows give equal results."""
        return not isinstance(self.function, UserDefinedFunction) or self.function.is_deterministic()

    def eval(self, *args: object) -> Any:
        """Return the result for the values of a row."""
        call: Any = self.function
        if isinstance(self.function, UserDefinedFunction):
            call = getattr(self.function, "eval")  # noqa: B009 - only some of the classes have it
        return call(self._row_of(args))

    def accumulate(self, accumulator: Any, *args: object) -> None:
        """Add the values of a row."""
        self.function.accumulate(accumulator, self._row_of(args))

    def retract(self, accumulator: Any, *args: object) -> None:
        """Take back the values of a row."""
        self.function.retract(accumulator, self._row_of(args))

    def _row_of(self, values: tuple[Any, ...]) -> Any:
        if self._is_pandas:
            import pandas

            return pandas.concat([_named(*pair) for pair in zip(values, self._names, strict=True)], axis=1)
        row = Row(*values)
        row.set_field_names(list(self._names))
        return row

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)


def _named(column: pandas.Series | pandas.DataFrame, name: str) -> pandas.Series | pandas.DataFrame:
    """Return a column under its name; that of a row has the fields instead."""
    import pandas

    return column.rename(name) if isinstance(column, pandas.Series) else column
