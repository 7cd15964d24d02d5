"""Chains of operators with mismatched types; both checkers must flag exactly the marked lines."""

from __future__ import annotations

from firesteel.common import Types
from firesteel.datastream import DataStream, MapFunction, StreamExecutionEnvironment


class Half(MapFunction[int, float]):
    def map(self, value: int) -> float:
        return value / 2


def length(word: str) -> int:
    return len(word)


def main(env: StreamExecutionEnvironment, words: DataStream[str]) -> None:
    words.map(lambda word: word + 1)  # error: a word is no number
    words.map(lambda word: word.no_method())  # error: str has none
    words.map(Half())  # error: takes numbers
    words.map(length).map(length)  # error: the second gets numbers
    words.map(length, Types.STRING())  # error: the function returns numbers
    words.map(length, Types.TUPLE([Types.INT()]))  # error: the function returns no tuples
    words.map(length, Types.ROW([Types.INT()]))  # error: the function returns no rows
    words.filter(lambda number: number > 3)  # error: a word is no number
    words.flat_map(length)  # error: a number can't be iterated
    words.flat_map(str.split, Types.INT())  # error: the function returns words
    words.union(words.map(length))  # error: other elements
    words.key_by(lambda word: word[0], Types.INT())  # error: the key is a word
    words.key_by(length).reduce(lambda first, second: len(first))  # error: no word
    words.execute_and_collect(limit=1)[0].no_method()  # error: str has none
    numbers: DataStream[int] = env.from_collection(["a"])  # error: words
    numbers.print()
