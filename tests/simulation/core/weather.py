"""What happens to messages on their way."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass
class Weather:
    """What happens to messages.

    Attributes:
        delay_s: The mean delay.
        lost: Chance that a message is lost.
        doubled: Chance that it arrives twice.
    """

    delay_s: float = 0.01
    lost: float = 0.0
    doubled: float = 0.0

    def copies(self, chance: random.Random, is_kept: bool = False) -> int:
        """Return how often a message arrives: once, twice, or unless it `is_kept` never."""
        if not is_kept and chance.random() < self.lost:
            return 0
        return 1 + (chance.random() < self.doubled)

    def delay(self, chance: random.Random) -> float:
        """Return how long a message takes, in seconds."""
        return chance.expovariate(1 / self.delay_s)
