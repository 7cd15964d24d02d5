"""The bound on connections: idle ones give way, those in use stay, and one host does not lock out others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firesteel.runtime.front_door import FrontDoor, Visit

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["admit", "begin", "end", "leave"]), st.sampled_from("abc"), st.integers(0, 20))
)


@given(ACTIONS)
def test_the_bounds_hold_and_connections_in_use_are_never_closed(actions: list[tuple[str, str, int]]) -> None:
    door = FrontDoor(6, per_peer=3)
    open_visits: list[Visit] = []
    busy: set[Visit] = set()

    def admit(peer: str) -> None:
        found: list[Visit] = []
        visit = door.admit(peer, lambda: closed.append(found[0]))
        if visit is not None:
            found.append(visit)
            open_visits.append(visit)

    for action, peer, which in actions:
        closed: list[Visit] = []
        if action == "admit":
            admit(peer)
        elif open_visits:
            visit = open_visits[which % len(open_visits)]
            getattr(visit, action)()
            busy = busy | {visit} if action == "begin" else busy - {visit}
            if action == "leave":
                open_visits.remove(visit)
        assert not busy.intersection(closed)
        for visit in closed:
            open_visits.remove(visit)
        assert len(door) == len(open_visits) <= 6
        assert all(sum(visit.peer == peer for visit in open_visits) <= 3 for peer in "abc")


def test_the_longest_idle_connection_of_the_peer_with_the_most_is_closed() -> None:
    closed: list[str] = []
    door = FrontDoor(4, per_peer=3)
    visits = {name: door.admit(name[0], lambda name=name: closed.append(name)) for name in ("a1", "b1", "a2", "a3")}
    assert all(visits.values())
    visits["a1"].begin()  # type: ignore[union-attr]
    door.admit("c", lambda: None)
    assert closed == ["a2"]
    visits["a1"].end()  # type: ignore[union-attr]
    door.admit("c", lambda: None)
    assert closed == ["a2", "a3"]


def test_a_connection_is_refused_if_all_are_in_use() -> None:
    door = FrontDoor(2, per_peer=2)
    for _ in range(2):
        visit = door.admit("a", lambda: None)
        assert visit is not None
        visit.begin()
    assert door.admit("b", lambda: None) is None
