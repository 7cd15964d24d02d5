"""Counts the calls that an action makes: the work of a vectorized kernel does not grow with its rows."""

import itertools
import sys


def calls_made(action):
    """How many functions an action calls, of Python and of C."""
    counter = itertools.count()
    sys.setprofile(lambda frame, event, argument: next(counter) if event.endswith("call") else None)
    try:
        action()
    finally:
        sys.setprofile(None)
    return next(counter)
