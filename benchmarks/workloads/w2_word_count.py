"""W2: words of lines are counted with `reduce`, one result per word."""

from __future__ import annotations

from pyflink.common import Types

TITLE = "W2: word count with reduce"
WORDS = 5
VOCABULARY = 10_000
TEXT = f"""Lines of {WORDS} words out of {VOCABULARY:,} are split, and the words counted with `reduce`: one result per
word. A record is a line."""


def make(n):
    return f"w{n * 7919 % 10_000} w{n * 31 % 9973} w{n % 1009} w{n * n % 9949} w{n * 3 % 101}"


def pairs(line):
    return [(word, 1) for word in line.split()]


def word_of(pair):
    return pair[0]


def add(a, b):
    return a[0], a[1] + b[1]


def build(positions):
    return (
        positions.map(make, Types.STRING())
        .flat_map(pairs, Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(word_of, Types.STRING())
        .reduce(add)
    )


def expected(records):
    return WORDS * records


ROW = "key string, count long"


def rows(positions):
    return [pair for n in positions for pair in pairs(make(n))]


def results(batches):
    counts = {}
    for batch in batches:
        found = []
        for pair in batch:
            word = pair[0]
            counts[word] = pair = add(counts[word], pair) if word in counts else pair
            found.append(pair)
        yield found


def step(state, row):
    state = row if state is None else add(state, row)
    return state, [state]
