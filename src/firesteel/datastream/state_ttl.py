"""How long state lives: re-exported by `firesteel.datastream.state`."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import ClassVar, cast

from firesteel.common.time import Duration, Time


class StateTtlConfig:
    """How long the values of a state live, by processing time (Flink: `api.common.state.StateTtlConfig`).

    The elements of a list state and the entries of a map state live one by one. The times are kept with the state and
    survive a restart; duration and options may then have changed, but the state must not have been without time to
    live before. Broadcast state ignores it, as in Flink.

    Example:
        >>> from firesteel.common import Types
        >>> from firesteel.datastream.state import ValueStateDescriptor
        >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
        >>> last_seen = ValueStateDescriptor("last seen", Types.LONG())
        >>> last_seen.enable_time_to_live(ttl)
        >>> last_seen.ttl_config.get_ttl()
        3600000 ms

    Raises:
        ValueError: the time to live is not positive.
    """

    class UpdateType(Enum):
        """What starts the life of a value anew."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired value that is still there is returned."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which time counts."""

        ProcessingTime = 0

    class CleanupStrategies:
        """When expired values are removed besides on access."""

        class Strategies(Enum):
            """The strategies there are."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):  # noqa: B024 - a marker, as in Flink
            """One strategy with its settings."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A strategy without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Some values are checked on each state access.

            Raises:
                ValueError: `cleanup_size` is negative.
            """

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size < 0:
                    raise ValueError(f"incremental clean-up: the size must be 0 or more, not {cleanup_size}")
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Values checked at once."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """True if every record triggers it."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Values are checked when the store compacts its files."""

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """Entries after which the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Files older than this are compacted."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY: ClassVar[CleanupStrategy] = EmptyCleanupStrategy()

        def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """True unless disabled: expired values are also removed without access."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """True if snapshots leave expired values out."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
            """The incremental strategy, if chosen; else the default while cleanup runs in the background."""
            chosen = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if chosen is None and self._is_cleanup_in_background:
                chosen = self.IncrementalCleanupStrategy(5, False)
            return cast("StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None", chosen)

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
            """The compaction strategy, if chosen; else the default while cleanup runs in the background."""
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
            raise ValueError(f"the time to live of a state must be positive, not {ttl}")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time) -> Builder:
        """A builder for values that live so long."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """What starts the life of a value anew."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether an expired value that is still there is returned."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """How long a value lives."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Which time counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """False if values live for ever."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """When expired values are removed besides on access."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig<update_type={self._update_type}, state_visibility={self._state_visibility}, "
            f"ttl_time_characteristic ={self._ttl_time_characteristic}, ttl={self._ttl}>"
        )

    class Builder:
        """Builds a `StateTtlConfig`; default: on create and write, never return expired, cleaned in background."""

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
            """Sets what starts the life of a value anew."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """A value lives from its last write."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """A value lives from its last read or write."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Sets whether an expired value that is still there is returned."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Expired values may be returned."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Expired values are never returned."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Sets which time counts."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Processing time counts (there is no other)."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Snapshots leave expired values out."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT] = strategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Checks so many values on each state access, and (if asked for) for every record."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.INCREMENTAL_CLEANUP] = strategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> StateTtlConfig.Builder:
            """Checks values when the store compacts its files; a store without files checks some on each access."""
            strategies = StateTtlConfig.CleanupStrategies
            chosen = strategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            self._strategies[strategies.Strategies.ROCKSDB_COMPACTION_FILTER] = chosen
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Expired values are removed on access only."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Time) -> StateTtlConfig.Builder:
            """Sets how long a value lives."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """The configuration."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )
