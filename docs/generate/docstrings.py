"""An extension of Griffe: `Example:` in a docstring begins a section of code, as `Examples:` does."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["ExampleSections"]

_EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)


class ExampleSections(griffe.Extension):
    """Renames sections `Example:`: Griffe takes them for notes, in which `>>>` would become a quotation."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section in the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub("Examples:", obj.docstring.value)
