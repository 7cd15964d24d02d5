"""Retry strategies of asynchronous calls (module as `pyflink.datastream.async_retry_strategies`)."""

from __future__ import annotations

from firesteel.functions.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = ["ExponentialBackoffDelayRetryStrategy", "FixedDelayRetryStrategy", "NoRetryStrategy", "RetryPredicate"]
