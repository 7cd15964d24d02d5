"""The generator has the published proportions; each query has the same results as plain Python over the same events."""

from __future__ import annotations

from collections import Counter

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.testing import run_local

pytestmark = pytest.mark.slow

EVENTS = 20_000
QUERIES = [f"q{number}" for number in range(9)]


@pytest.fixture(scope="module")
def site():
    from nexmark.model import Site

    return Site(EVENTS)


def run_query(query, parallelism):
    """The results of a query, read in four batches by subtasks side by side in event time."""
    from nexmark.queries import QUERIES
    from nexmark.streams import events

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = env.from_source(
        NumberSequenceSource(0, EVENTS - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    part = EVENTS // parallelism
    positions = source.map(lambda n: n % part * parallelism + n // part, Types.LONG())
    QUERIES[query](events(positions)).collect_async()
    return run_local(env, batch_elements=part // 4).elements


def test_events_have_the_published_proportions(site):
    assert (len(site.persons), len(site.auctions), len(site.bids)) == (400, 1200, 18_400)


def test_ids_count_up(site):
    assert [person[0] for person in site.persons] == list(range(1000, 1400))
    assert [auction[0] for auction in site.auctions] == list(range(1000, 2200))


def test_same_seed_gives_same_events_and_another_seed_others():
    from nexmark.generator import Events

    once, again, other = ([Events(seed)(n) for n in range(100)] for seed in (1, 1, 2))
    assert once == again
    assert once != other
    assert [event[0] for event in once] == [event[0] for event in other]


def test_hot_items_get_half_of_the_bids(site):
    hot = sum(bid[0] % 100 == 0 for bid in site.bids)
    assert 0.48 < hot / len(site.bids) < 0.54


def test_auctions_end_after_they_begin(site):
    assert all(auction[5] < auction[6] for auction in site.auctions)


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("query", QUERIES)
def test_query_gives_what_plain_python_gives(query, parallelism, site):
    from nexmark import model

    results, wanted = run_query(query, parallelism), model.QUERIES[query](site)
    assert wanted, "the events show nothing"
    assert len(results) == len(wanted)
    if query in model.CHANGING:
        assert model.final(results) == model.final(wanted)
    else:
        assert Counter(results) == Counter(wanted)
