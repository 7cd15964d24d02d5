"""Registration at a leader with retries."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from firesteel.common.options.rpc_options import (
    REGISTRATION_ERROR_DELAY,
    REGISTRATION_INITIAL_TIMEOUT,
    REGISTRATION_MAX_TIMEOUT,
    REGISTRATION_REFUSED_REGISTRATION_DELAY,
)
from firesteel.runtime.clock import Clock, sleep, with_timeout

__all__ = ["Declined", "RegistrationOptions", "Rejected", "register_with_retry"]

logger = logging.getLogger(__name__)
G = TypeVar("G")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Declined:
    """A registration was declined for now; retry later. Flink: `RegistrationResponse.Failure`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rejected(Declined):
    """A registration was declined for good, by this leader. Flink: `RegistrationResponse.Rejection`."""


@dataclass(frozen=True, slots=True)
class RegistrationOptions:
    """Timeouts and delays of registrations. Flink: `runtime.registration.RetryingRegistrationConfiguration`.

    Attributes:
        initial_timeout_s: Timeout of the first attempt in seconds; doubled after each timeout.
        max_timeout_s: Maximum timeout of an attempt in seconds.
        error_delay_s: Pause after an error in seconds.
        refused_delay_s: Pause after a declined registration in seconds.
    """

    initial_timeout_s: float = 0.1
    max_timeout_s: float = 30.0
    error_delay_s: float = 10.0
    refused_delay_s: float = 30.0

    def __post_init__(self) -> None:
        if min(self.initial_timeout_s, self.max_timeout_s) <= 0 or min(self.error_delay_s, self.refused_delay_s) < 0:
            raise ValueError(f"{self}: timeouts must be greater than 0, delays at least 0")

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> RegistrationOptions:
        """Return the options `cluster.registration.*` of a configuration."""
        return cls(
            REGISTRATION_INITIAL_TIMEOUT.of(configuration),
            REGISTRATION_MAX_TIMEOUT.of(configuration),
            REGISTRATION_ERROR_DELAY.of(configuration),
            REGISTRATION_REFUSED_REGISTRATION_DELAY.of(configuration),
        )


async def register_with_retry(
    clock: Clock,
    connect: Callable[[], Awaitable[G]],
    register: Callable[[G], Awaitable[object]],
    success_type: type[S],
    options: RegistrationOptions,
) -> tuple[G, S | Rejected]:
    """Connect and register with retries; return the gateway and the response, a success or a rejection.

    Flink: `runtime.registration.RetryingRegistration`. It retries indefinitely; to stop it, cancel the task that awaits
    it.
    """
    gateway = await _connect(clock, connect, options)
    timeout_s = options.initial_timeout_s
    while True:
        try:
            answer = await with_timeout(clock, timeout_s, register(gateway))
        except TimeoutError:
            # A short first timeout finds a live leader at once; a slow one must not be flooded.
            timeout_s = min(2 * timeout_s, options.max_timeout_s)
            continue
        except Exception as error:
            logger.info("registration at %s failed: %s", gateway, error)
            pause_s = options.error_delay_s
        else:
            if isinstance(answer, success_type | Rejected):
                return gateway, answer
            logger.info("registration at %s was declined: %s", gateway, answer)
            pause_s = options.refused_delay_s
        timeout_s = options.initial_timeout_s
        await sleep(clock, pause_s)


async def _connect(clock: Clock, connect: Callable[[], Awaitable[G]], options: RegistrationOptions) -> G:
    while True:
        try:
            return await connect()
        except Exception as error:
            logger.info("could not connect: %s", error)
            await sleep(clock, options.error_delay_s)
