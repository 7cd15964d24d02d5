"""Commits to tables whose log other writers extend at the same time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

_RETRIES = 5
_FIRST_WAIT_S = 0.1


def commit_with_retries(commit: Callable[[], None], *conflicts: type[Exception]) -> None:
    """Commit, and try again after a while when another writer was faster.

    Args:
        commit: Commits to the newest version of the table what it does not have yet.
        conflicts: The errors that say that another writer was faster; the last one is raised after several retries.
    """
    for retry in range(_RETRIES + 1):
        try:
            commit()
            return
        except conflicts:
            if retry == _RETRIES:
                raise
            # At random, so that writers that met once do not meet again.
            time.sleep(_FIRST_WAIT_S * 2**retry * random.uniform(1, 2))
