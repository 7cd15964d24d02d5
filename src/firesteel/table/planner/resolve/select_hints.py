"""The hints of a SELECT, found by the names of the inputs of its joins and groups. Flink: `QueryHintsResolver`."""

from __future__ import annotations

from firesteel.common.table_errors import ValidationException
from firesteel.table.syntax.hint_checks import LOOKUP, OPTIONS, STATE_TTL
from firesteel.table.syntax.queries import Hint, Named, TableRef
from firesteel.table.syntax.unresolved import where


class HintNames:
    """The names that the hints of a statement use, and those of them that an input has.

    Flink checks them for all SELECTs together: a name that fits in one SELECT is valid in all hints of the same kind.
    """

    def __init__(self) -> None:
        self._hints: list[Hint] = []
        self._matched: dict[str, set[str]] = {}

    def add(self, hint: Hint, matched: set[str]) -> None:
        """Add a hint that applies to a join or an aggregation.

        Args:
            hint: The hint.
            matched: Its names that an input has.
        """
        self._hints.append(hint)
        self._matched.setdefault(hint.name.upper(), set()).update(matched)

    def check(self) -> None:
        """Check that inputs have all names.

        Raises:
            ValidationException: no input has one of the names.
        """
        rest: dict[str, set[str]] = {kind: set() for kind in sorted(self._matched)}
        for hint in self._hints:
            rest[hint.name.upper()] |= set(_names(hint)) - self._matched[hint.name.upper()]
        wrong = next((hint for hint in self._hints if set(_names(hint)) & rest[hint.name.upper()]), None)
        if wrong is not None:
            lines = "".join(f"\n`{', '.join(sorted(names))}` in `{kind}`" for kind, names in rest.items())
            raise ValidationException(
                f"SQL validation failed. {where(wrong.position, wrong.name)}The options of following hints cannot "
                f"match the name of input tables or views: {lines}"
            )


class SelectHints:
    """The hints of one SELECT.

    A hint names inputs of joins, STATE_TTL also the input of an aggregation. As in Flink, names are only checked if the
    SELECT has a join or an aggregation.

    Args:
        hints: The hints, with valid options.
        names: Checks the names of the statement.
        is_streaming: Whether state has a time to live.
    """

    def __init__(self, hints: tuple[Hint, ...], names: HintNames, is_streaming: bool) -> None:
        self._hints = [hint for hint in hints if hint.name.upper() != OPTIONS]
        self._hint_names = names
        self._is_streaming = is_streaming

    def of_join(self, left: str | None, right: str | None) -> tuple[str | None, str | None]:
        """Return the time to live of the state of both inputs of a join, None where no hint gives one.

        Args:
            left: The name of the left input, None if it has none.
            right: The name of the right input.
        """
        for hint in self._hints:
            self._match(hint, (right,) if hint.name.upper() == LOOKUP else (left, right))
        return self._ttl(left), self._ttl(right)

    def of_group(self, source: str | None) -> str | None:
        """Return the time to live of the state of an aggregation, None if no hint gives one."""
        for hint in self._hints:
            if hint.name.upper() == STATE_TTL:
                self._match(hint, (source,))
        return self._ttl(source)

    def _match(self, hint: Hint, inputs: tuple[str | None, ...]) -> None:
        self._hint_names.add(hint, {name for name in _names(hint) if _last_part(name) in inputs})

    def _ttl(self, name: str | None) -> str | None:
        if name is None or not self._is_streaming:
            return None
        for hint in self._hints:
            found = [value for key, value in hint.pairs if _last_part(key) == name]
            if found and hint.name.upper() == STATE_TTL:
                return found[-1]
        return None


def input_name(item: object) -> str | None:
    """Return the name that hints use for an item of FROM: its alias, or the name of the table or view."""
    if isinstance(item, Named):
        return item.name
    return item.path[-1] if isinstance(item, TableRef) else None


def _names(hint: Hint) -> tuple[str, ...]:
    kind = hint.name.upper()
    if kind == LOOKUP:
        return tuple(value for key, value in hint.pairs if key == "table")
    return tuple(key for key, _ in hint.pairs) if kind == STATE_TTL else hint.items


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
