"""What firesteel needs of IPython's shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Cells", "Display", "Shell", "is_terminal"]


class Cells(Protocol):
    """What the shell knows of the cells that it has compiled (`CachingCompiler`)."""

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        """Return ("Cell", "In[7]") for the file of a cell, None for others."""


class Shell(Protocol):
    """The `InteractiveShell` of a notebook.

    Attributes:
        user_ns: The variables of the notebook.
        compile: Compiles the cells.
    """

    user_ns: dict[str, object]
    compile: Cells

    def register_magic_function(self, func: Callable[[str, str], None], magic_kind: str, magic_name: str) -> None:
        """Add a magic."""

    def set_custom_exc(self, exc_tuple: tuple[type[BaseException], ...], handler: Callable[..., None]) -> None:
        """Handle errors of these classes."""

    def showtraceback(self, exc_tuple: object, *, running_compiled_code: bool) -> None:
        """Show a traceback as the notebook does by default."""


class Display(Protocol):
    """A place below a cell (`DisplayHandle`)."""

    def update(self, obj: object, *, raw: bool = False) -> None:
        """Show something else there."""


def is_terminal(shell: Shell) -> bool:
    """Return whether this is IPython in a terminal, which has no kernel and prints each update of a display anew."""
    return getattr(shell, "kernel", None) is None
