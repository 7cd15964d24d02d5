"""Time to live of state: re-exported by `firesteel.datastream.state`."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import ClassVar, cast

from firesteel.common.time import Duration, Time


class StateTtlConfig:
    """The time to live of state values, by processing time (Flink: `api.common.state.StateTtlConfig`).

    Elements of a list state and entries of a map state expire individually. The times are stored with the state and
    survive a restart. Duration and options may change between runs, but state that was written without a time to live
    cannot be restored with one. Broadcast state ignores the configuration, as in Flink.

    `new_builder` returns a builder with defaults for all settings except the duration.

    Args:
        update_type: Operations that reset the expiration time; `Disabled` means that values never expire.
        state_visibility: Whether reads may return expired values that have not been cleaned up.
        ttl_time_characteristic: `ProcessingTime`, the only one.
        ttl: Time after which a value expires, greater than 0.
        cleanup_strategies: Strategies that remove expired values in addition to removal on access.

    Raises:
        ValueError: the time to live is not positive.

    Example:
        >>> from firesteel.common import Types
        >>> from firesteel.datastream.state import ValueStateDescriptor
        >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
        >>> last_seen = ValueStateDescriptor("last seen", Types.LONG())
        >>> last_seen.enable_time_to_live(ttl)
        >>> last_seen.ttl_config.get_ttl()
        3600000 ms
    """

    class UpdateType(Enum):
        """The operations that reset the expiration time of a value."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether reads return expired values that have not been cleaned up."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The time that the time to live refers to."""

        ProcessingTime = 0

    class CleanupStrategies:
        """The strategies that remove expired values in addition to removal on access."""

        class Strategies(Enum):
            """The available strategies."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):  # noqa: B024 - a marker, as in Flink
            """One strategy with its settings."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A strategy without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """A strategy that checks some values on each state access.

            Args:
                cleanup_size: Number of values checked at once, 0 or more.
                run_cleanup_for_every_record: Whether every record also triggers a check.

            Raises:
                ValueError: `cleanup_size` is negative.
            """

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size < 0:
                    raise ValueError(f"incremental cleanup: the size must be 0 or more, found {cleanup_size}")
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return the number of values checked at once."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return whether every record triggers the cleanup."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """A strategy that checks values when the store compacts its files.

            Args:
                query_time_after_num_entries: Number of entries; it is stored but has no effect.
                periodic_compaction_time: Age of files, None for 30 days; it is stored but has no effect.
            """

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """Return the number of entries after which the current time is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Return the age at which files are compacted."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY: ClassVar[CleanupStrategy] = EmptyCleanupStrategy()

        def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether expired values are also removed without access (True by default)."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return whether snapshots omit expired values."""
            return self.has(self.Strategies.FULL_STATE_SCAN_SNAPSHOT)

        def has(self, strategy: Strategies) -> bool:
            """Return whether the program has chosen a strategy; defaults do not count."""
            return strategy in self._strategies

        def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
            """Return the incremental strategy if it is set, or the default one if background cleanup is enabled."""
            chosen = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if chosen is None and self._is_cleanup_in_background:
                chosen = self.IncrementalCleanupStrategy(5, False)
            return cast("StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None", chosen)

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
            """Return the compaction strategy if it is set, or the default one if background cleanup is enabled."""
            chosen = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if chosen is None and self._is_cleanup_in_background:
                chosen = self.RocksdbCompactFilterCleanupStrategy(1000)
            return cast("StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None", chosen)

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time,
        cleanup_strategies: CleanupStrategies,
    ) -> None:
        if ttl.to_milliseconds() <= 0:
            raise ValueError(f"the time to live of a state must be positive, found {ttl}")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time) -> Builder:
        """Return a builder for this time to live.

        Args:
            ttl: The time to live, greater than 0.
        """
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """Return the operations that reset the expiration time of a value."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Return whether reads return expired values that have not been cleaned up."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """Return the time to live of a value."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Return the time that the time to live refers to."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether values expire."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """Return the strategies that remove expired values in addition to removal on access."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig<update_type={self._update_type}, state_visibility={self._state_visibility}, "
            f"ttl_time_characteristic ={self._ttl_time_characteristic}, ttl={self._ttl}>"
        )

    class Builder:
        """A builder of `StateTtlConfig`.

        By default, creating and writing a value resets its expiration time, expired values are never returned, and they
        are cleaned up in the background.
        """

        def __init__(self, ttl: Time) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Set the operations that reset the expiration time of a value.

            Args:
                update_type: `Disabled` never expires values; the default is `OnCreateAndWrite`.
            """
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Reset the expiration time when a value is created or written (the default)."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reset the expiration time when a value is read or written."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Set whether reads return expired values.

            Args:
                state_visibility: `ReturnExpiredIfNotCleanedUp` returns them until they are cleaned up; by default they
                    are hidden.
            """
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Allow reads to return expired values that have not been cleaned up."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Never return expired values (the default)."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Store the time that the time to live refers to.

            Args:
                ttl_time_characteristic: `ProcessingTime`, the only one.
            """
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Use processing time, which is the only supported time."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Omit expired values from snapshots."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT] = strategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Check some values on each state access.

            Args:
                cleanup_size: Number of values checked at once, 0 or more.
                run_cleanup_for_every_record: Whether every record triggers a check, too.
            """
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.INCREMENTAL_CLEANUP] = strategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> StateTtlConfig.Builder:
            """Check values when files of the state are merged, which is also the default.

            Args:
                query_time_after_num_entries: Number of entries; it is stored but has no effect.
                periodic_compaction_time: Age of files, None for 30 days; it is stored but has no effect.
            """
            strategies = StateTtlConfig.CleanupStrategies
            chosen = strategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            self._strategies[strategies.Strategies.ROCKSDB_COMPACTION_FILTER] = chosen
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired values on access only."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Time) -> StateTtlConfig.Builder:
            """Set the time to live of a value, since its last reset.

            Args:
                ttl: Greater than 0; `build` raises an error otherwise.
            """
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )
