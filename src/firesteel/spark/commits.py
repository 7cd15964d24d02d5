"""What happens once all tasks of a batch succeeded: lines are printed, part files shown, elements handed on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.operators.file_sink import FinishedPart
from firesteel.operators.sinks import CollectedElements, PrintedLines

Collect = Callable[[str, list[Any]], None]
"""(collect id, elements)."""


def commit(committables: Iterable[Any], collect: Collect) -> None:
    """Carry out the committables of one batch, in order."""
    for committable in committables:
        if isinstance(committable, PrintedLines):
            sys.stdout.write(committable.text)
        elif isinstance(committable, FinishedPart):
            committable.commit()
        elif isinstance(committable, CollectedElements):
            collect(committable.collect_id, committable.elements)
        else:
            raise TypeError(f"no rule commits {type(committable).__name__}")
    sys.stdout.flush()
