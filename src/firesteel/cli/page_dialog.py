"""The dialog that asks for the number of a page (Flink: `CliInputView`)."""

from __future__ import annotations

__all__ = ["PageDialog"]


class PageDialog:
    """What the user has typed so far.

    Args:
        pages: The number of pages.

    Attributes:
        text: The text.
        is_wrong: Whether it was submitted and is no number of a page.
        is_over: Whether the dialog has ended.
        page: The page that was chosen; None if none was.
    """

    def __init__(self, pages: int) -> None:
        self.text = ""
        self.is_wrong = self.is_over = False
        self.page: int | None = None
        self._pages = pages

    @property
    def title(self) -> str:
        """Return the question."""
        return f"Enter page number: [1 to {self._pages}]"

    def press(self, key: str) -> None:
        """Do what a key means."""
        if key in ("escape", "interrupt"):
            self.is_over = True
        elif key == "enter":
            self._submit()
        elif key == "backspace":
            self.text = self.text[:-1]
        elif len(key) == 1:
            self.text += key

    def _submit(self) -> None:
        self.is_wrong = False
        if not self.text:
            self.is_over = True
        elif self.text.isdecimal() and 1 <= int(self.text) <= self._pages:
            self.page, self.is_over = int(self.text), True
        else:
            self.is_wrong = True
