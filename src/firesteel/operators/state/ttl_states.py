"""States with a time to live: like those of `states`, with a timestamp per value.

They are separate classes, chosen when the state is created, so that states without a time to live have no overhead.
They follow Flink's `runtime.state.ttl.Ttl*State`: a read removes an expired value, and returns it this one time if the
visibility is `ReturnExpiredIfNotCleanedUp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.functions.state import StateDescriptor
from firesteel.operators.chain.clock import MILLISECOND, now_ms, running_ns
from firesteel.operators.state.entries import Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.map_table import MapTable
from firesteel.operators.state.state_table import StateTable
from firesteel.operators.state.states import (
    KeyedAggregatingState,
    KeyedListState,
    KeyedMapState,
    KeyedReducingState,
    KeyedValueState,
    entries_of,
)
from firesteel.operators.state.ttl import Life, Stamped, Unexpired, unexpired_list, unexpired_value, with_time

if TYPE_CHECKING:
    from firesteel.functions.state import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
    )


def _life(
    table: StateTable | MapTable, backend: KeyedStateBackend, descriptor: StateDescriptor, unexpired: Unexpired
) -> Life:
    assert descriptor.ttl_config is not None
    return Life(descriptor.ttl_config, backend, table, unexpired)


class TtlValueState(KeyedValueState):
    """One value per key with a time to live."""

    __slots__ = ("_cleans", "_life")

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._life = _life(self._table, backend, descriptor, unexpired_value)
        self._cleans = self._life.cleans

    def value(self) -> Stored:
        """Return the value of the current key, or None."""
        if self._cleans:
            self._life.access()
        backend = self._backend
        entry = backend.current_entry if self._namespaced else backend.current_key
        stamped = self._table.data.get(entry)
        if stamped is None:
            return None
        value = self._life.found(self._table, entry, stamped)
        return value if value.__class__ in IMMUTABLE else self._show(value)

    def update(self, value: object) -> None:
        """Set the value of the current key and its timestamp; None clears it."""
        if self._cleans:
            self._life.access()
        if value is None:
            self.clear()
            return
        if self._coerce is not None:
            value = self._coerce(value)
        elif value.__class__ not in IMMUTABLE:
            value = own(value)
        backend = self._backend
        entry = backend.current_entry if self._namespaced else backend.current_key
        if running_ns() >= MILLISECOND.until_ns:
            MILLISECOND.tick()
        table = self._table
        # `put` written out, as in `KeyedValueState`.
        table.data[entry] = (value, MILLISECOND.ms)
        table.dirty.append(entry)


class TtlListState(KeyedListState):
    """One list per key, with a time to live per element.

    Expired elements stay in the state, invisible, until all are expired or a cleanup or a renewing read removes them.
    """

    __slots__ = ("_life",)

    def __init__(self, backend: KeyedStateBackend, descriptor: ListStateDescriptor[Stored], namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._life = _life(self._table, backend, descriptor, unexpired_list)

    def get(self) -> list[Stored]:
        """Return the elements, an empty list if there are none."""
        now = self._life.access()
        entry = self._entry()
        stored = self._table.data.get(entry)
        if stored is None:
            return []
        # A getter that evicts, as Flink's does: a key that is only read must not keep expired elements for ever.
        kept = unexpired_list(stored, now - self._life.ttl_ms)
        if kept is None:
            self._table.remove(entry)
        elif self._life.renews_on_read:
            self._table.put(entry, [(value, now) for value, _ in kept])
        return self._show_all([value for value, _ in (stored if self._life.returns_expired else kept or ())])

    def add_all(self, values: Iterable[Stored]) -> None:
        """Append elements with the current timestamp."""
        new = self._begin(values)
        if new:
            self._table.append(self._entry(), new)

    def update(self, values: Iterable[Stored]) -> None:
        """Replace all elements."""
        new = self._begin(values)
        self.clear()
        if new:
            self._table.put(self._entry(), new)

    def _begin(self, values: Iterable[object]) -> list[Stamped]:
        now = self._life.access()
        return [(self._coerce(value), now) for value in values]


class TtlMapState(KeyedMapState):
    """One map per key, with a time to live per map entry."""

    __slots__ = ("_life",)

    def __init__(
        self, backend: KeyedStateBackend, descriptor: MapStateDescriptor[Stored, Stored], namespaced: bool
    ) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._life = _life(self._table, backend, descriptor, unexpired_value)

    def _seen(self, key: object, stamped: Stamped, now: int) -> bool:
        """Return whether a present map key is visible; remove it if it has expired."""
        life = self._life
        # The common case first: most entries that are read have not expired.
        if stamped[1] + life.ttl_ms > now and not life.renews_on_read:
            return True
        if life.is_over(stamped, now):
            self._table.remove(self._entry(), key)
        elif life.renews_on_read:
            self._table.put(self._entry(), key, (stamped[0], now))
        return life.usable(stamped, now) is not None

    def get(self, key: object) -> Stored:
        """Return the value of a map key, or None."""
        if self._life.cleans:
            self._life.access()
        kept = self._keep_key(key)
        stamped = self._table.get(self._entry(), kept)
        # Only now: there may be no value whose time matters.
        if stamped is None or not self._seen(kept, stamped, now_ms()):
            return None
        value = stamped[0]
        return value if value.__class__ in IMMUTABLE else self._show(value)

    def contains(self, key: object) -> bool:
        """Return whether the map contains a key; this counts as a read."""
        if self._life.cleans:
            self._life.access()
        kept = self._keep_key(key)
        stamped = self._table.get(self._entry(), kept)
        return stamped is not None and self._seen(kept, stamped, now_ms())

    def put(self, key: object, value: object) -> None:
        """Set the value of a map key with the current timestamp."""
        self._table.put(self._entry(), self._keep_key(key), (self._coerce_value(value), self._life.access()))

    def put_all(self, dict_value: Mapping[object, object] | Iterable[tuple[object, object]]) -> None:
        """Set the values of several map keys with the current timestamp."""
        now = self._life.access()
        for key, value in entries_of(dict_value):
            self._table.put(self._entry(), self._keep_key(key), (self._coerce_value(value), now))

    def remove(self, key: object) -> None:
        """Remove a map key if it is present."""
        self._life.access()
        super().remove(key)

    def items(self) -> Iterator[tuple[Stored, Stored]]:
        """Return an iterator over (map key, value) pairs; the map may be changed during iteration."""
        now = self._life.access()
        stored = self._table.items(self._entry())
        seen = [(key, stamped[0]) for key, stamped in stored if self._seen(key, stamped, now)]
        return ((key_of(key), self._show(value)) for key, value in seen)

    def keys(self) -> Iterator[Stored]:
        """Return the map keys; this counts as a read of all entries."""
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Stored]:
        """Return the values."""
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        """Return whether no entry is stored; as in Flink, expired entries count until they are removed."""
        self._life.access()
        return super().is_empty()


class _AddedUp:
    """The base of states whose values are combined, with the merge of two of them."""

    __slots__ = ()
    _life: Life

    def _merge(self, first: Stamped, second: Stamped, add_up: Callable[[Stored, Stored], Stored]) -> Stamped | None:
        """Return the combination of two values, or the one that has not expired, with the current timestamp."""
        now = now_ms()
        usable = [stored for stored in (first, second) if self._life.usable(stored, now) is not None]
        if len(usable) == 2:
            return with_time(add_up(first[0], second[0]), now)
        return (usable[0][0], now) if usable else None


class TtlReducingState(_AddedUp, KeyedReducingState):
    """One value per key, the reduction of all added values, with a time to live."""

    __slots__ = ("_life",)

    def __init__(
        self, backend: KeyedStateBackend, descriptor: ReducingStateDescriptor[object], namespaced: bool
    ) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._life = _life(self._table, backend, descriptor, unexpired_value)

    def get(self) -> Stored:
        """Return the reduced value, or None if nothing was added."""
        return self._show(self._life.read(self._table, self._entry()))

    def add(self, value: object) -> None:
        """Reduce one more value into the state and renew its timestamp."""
        now = self._life.access()
        entry = self._entry()
        stored = self._life.usable(self._table.data.get(entry), now)
        self._table.update(entry, with_time(self._reduced(None if stored is None else stored[0], value), now))

    def _combine(self, first: Stored, second: Stored) -> object:
        return self._merge(first, second, super()._combine)


class TtlAggregatingState(_AddedUp, KeyedAggregatingState):
    """One accumulator per key with a time to live."""

    __slots__ = ("_life",)

    def __init__(
        self,
        backend: KeyedStateBackend,
        descriptor: AggregatingStateDescriptor[object, object, object],
        namespaced: bool,
    ) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._life = _life(self._table, backend, descriptor, unexpired_value)

    def get(self) -> Stored:
        """Return the result of the accumulator, or None if nothing was added."""
        accumulator = self._life.read(self._table, self._entry())
        return None if accumulator is None else self._function.get_result(own(accumulator))

    def add(self, value: object) -> None:
        """Accumulate one more value and renew the timestamp of the accumulator."""
        now = self._life.access()
        entry = self._entry()
        stored = self._life.usable(self._table.data.get(entry), now)
        self._table.update(entry, with_time(self._accumulated(None if stored is None else stored[0], value), now))

    def _combine(self, first: Stored, second: Stored) -> object:
        return self._merge(first, second, super()._combine)


WITH_TIME_TO_LIVE: dict[type, type] = {
    KeyedValueState: TtlValueState,
    KeyedListState: TtlListState,
    KeyedMapState: TtlMapState,
    KeyedReducingState: TtlReducingState,
    KeyedAggregatingState: TtlAggregatingState,
}
"""The class with a time to live for each class of state."""
