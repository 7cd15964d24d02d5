"""Operators with an event loop of their own."""

from __future__ import annotations

import asyncio

from firesteel.operators.one_input import FunctionOperator

__all__ = ["OwnLoopOperator"]


class OwnLoopOperator(FunctionOperator):
    """An operator whose asynchronous function runs on an event loop of its own.

    Why: `docs/decisions/0006-async-io-has-its-own-loop.md`.
    """

    _loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Create the event loop and open the function."""
        self._loop = asyncio.new_event_loop()
        super().open()

    def close(self) -> None:
        """Close the function and the event loop."""
        try:
            super().close()
        finally:
            if self._loop is not None:
                self._loop.close()
