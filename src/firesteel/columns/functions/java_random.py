"""`java.util.Random`: the same seed yields the same numbers as in Flink."""

from __future__ import annotations

import secrets

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1


class JavaRandom:
    """A 48-bit linear congruential generator; the start is random if no seed is given."""

    def __init__(self, seed: int | None = None) -> None:
        self._state = ((secrets.randbits(48) if seed is None else seed) ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> (48 - bits)

    def next_double(self) -> float:
        """Return a float in [0, 1)."""
        return ((self._next(26) << 27) + self._next(27)) / float(1 << 53)

    def next_int(self, bound: int) -> int:
        """Return an integer in [0, bound).

        Raises:
            ValueError: The bound is not positive.
        """
        if bound <= 0:
            raise ValueError(f"bound must be positive, found {bound}")
        value = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * value) >> 31
        while value - value % bound + bound - 1 >= 1 << 31:
            value = self._next(31)
        return value % bound
