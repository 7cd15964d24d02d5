"""The choice of a planner, of which there is one since Flink 1.14."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.pyflink1.removed import Removed, note
from firesteel.table.environment_settings import EnvironmentSettings

_Builder = EnvironmentSettings.Builder
_INSTEAD = "EnvironmentSettings.in_streaming_mode() or in_batch_mode(); there is one planner"


def _planner(name: str) -> Callable[[_Builder], _Builder]:
    def use_planner(self: EnvironmentSettings.Builder) -> EnvironmentSettings.Builder:
        """Use the only planner."""
        note(f"{name}()", _INSTEAD)
        return self

    use_planner.__name__ = name
    return use_planner


REMOVED = tuple(
    Removed(("table.EnvironmentSettings.Builder",), name, _planner(name), _INSTEAD)
    for name in ("use_blink_planner", "use_old_planner", "use_any_planner")
)
