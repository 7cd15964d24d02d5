"""Dialogs of the screen of a query: the number of a page (Flink: `CliInputView`), and a text to search for."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Dialog", "PageDialog", "SearchDialog"]


class Dialog:
    """A line that the user types.

    Attributes:
        title: The question.
        wrong: What is said of an answer that is not taken.
        text: What has been typed so far.
        is_wrong: Whether it was submitted and not taken.
        is_over: Whether the dialog has ended.
    """

    title = wrong = ""

    def __init__(self) -> None:
        self.text = ""
        self.is_wrong = self.is_over = False

    def press(self, key: str) -> None:
        """Do what a key means."""
        if key in ("escape", "interrupt"):
            self.is_over = True
        elif key == "enter":
            self.is_over = self._takes(self.text)
            self.is_wrong = not self.is_over
        elif key == "backspace":
            self.text = self.text[:-1]
        elif len(key) == 1:
            self.text += key

    def _takes(self, text: str) -> bool:
        """Do what the answer says; return False if that is not possible."""
        raise NotImplementedError


class PageDialog(Dialog):
    """Asks for a page.

    Args:
        pages: The number of pages.
        go_to: Called with the number that was chosen.
    """

    wrong = "The input is invalid please check it again."

    def __init__(self, pages: int, go_to: Callable[[int], None]) -> None:
        super().__init__()
        self.title = f"Enter page number: [1 to {pages}]"
        self._pages = pages
        self._go_to = go_to

    def _takes(self, text: str) -> bool:
        if not text:
            return True
        if not text.isdecimal() or not 1 <= int(text) <= self._pages:
            return False
        self._go_to(int(text))
        return True


class SearchDialog(Dialog):
    """Asks for a text; an empty answer searches for the former one again.

    Args:
        former: The text of the last search.
        is_backward: Whether it goes to earlier rows.
        find: Selects the next row with a text, and returns whether there is one.
    """

    wrong = "No row has this text."

    def __init__(self, former: str, is_backward: bool, find: Callable[[str, bool], bool]) -> None:
        super().__init__()
        again = f" [{former}]" if former else ""
        self.title = f"Search {'backward' if is_backward else 'forward'}, in any case of letters:{again}"
        self._former = former
        self._is_backward = is_backward
        self._find = find

    def _takes(self, text: str) -> bool:
        wanted = text or self._former
        return not wanted or self._find(wanted, self._is_backward)
