"""map, flat_map, filter, key_by, reduce, union, and collected results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, assert_type

from firesteel.common import Row, Types
from firesteel.datastream import (
    DataStream,
    FlatMapFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.data_stream import CloseableIterator


class Split(FlatMapFunction[str, str]):
    def flat_map(self, value: str) -> Iterator[str]:
        yield from value.split()


class Lengths(MapFunction[object, int]):
    def map(self, value: object) -> int:
        return len(str(value))


class Add(ReduceFunction[tuple[str, int]]):
    def reduce(self, value1: tuple[str, int], value2: tuple[str, int]) -> tuple[str, int]:
        return value1[0], value1[1] + value2[1]


class Word(KeySelector[tuple[str, int], str]):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0]


class Letters(NamedTuple):
    word: str
    length: int


def with_one(word: str) -> tuple[str, int]:
    return word, 1


def letters(word: str) -> Letters:
    return Letters(word, len(word))


def words_of(line: str) -> list[str]:
    return line.split()


def main(env: StreamExecutionEnvironment) -> None:
    lines = env.from_collection(["a b", "b"])
    assert_type(lines, DataStream[str])
    assert_type(env.from_collection(["a b"], Types.STRING()), DataStream[str])

    words = lines.flat_map(words_of, Types.STRING())
    assert_type(words, DataStream[str])
    assert_type(lines.flat_map(Split()), DataStream[str])
    assert_type(lines.flat_map(lambda line: [len(word) for word in line.split()]), DataStream[int])
    assert_type(words.map(Lengths()), DataStream[int])
    assert_type(words.map(str.upper).filter(lambda word: word.startswith("A")), DataStream[str])

    pairs = words.map(lambda word: (word, 1))
    declared = words.map(with_one, Types.TUPLE([Types.STRING(), Types.INT()]))
    assert_type(declared, DataStream[tuple[str, int]])
    assert_type(declared.project(0), DataStream[tuple[Any, ...]])
    assert_type(words.map(lambda word: (word, 1, 0.5)), DataStream[tuple[str, int, float]])
    assert_type(words.map(letters), DataStream[Letters])
    assert_type(words.map(lambda word: 1 if word else 0, Types.INT()), DataStream[int])
    assert_type(pairs, DataStream[tuple[str, int]])
    assert_type(
        words.map(lambda word: (word, 1), output_type=Types.ROW([Types.STRING(), Types.INT()])), DataStream[Row]
    )

    by_word = pairs.key_by(lambda pair: pair[0], Types.STRING())
    assert_type(by_word, KeyedStream[tuple[str, int], str])
    assert_type(pairs.key_by(Word()), KeyedStream[tuple[str, int], str])
    assert_type(by_word.key_by(lambda pair: pair[1]), KeyedStream[tuple[str, int], int])

    counts = by_word.reduce(lambda first, second: (first[0], first[1] + second[1]))
    assert_type(counts, DataStream[tuple[str, int]])
    assert_type(by_word.reduce(Add()), DataStream[tuple[str, int]])
    assert_type(by_word.sum(1), DataStream[tuple[str, int]])
    assert_type(counts.union(pairs, by_word), DataStream[tuple[str, int]])
    assert_type(counts.name("counts").set_parallelism(2).rebalance(), DataStream[tuple[str, int]])
    counts.print()


def convert(env: StreamExecutionEnvironment) -> None:
    """The declared type decides where elements are converted to it."""
    assert_type(env.from_collection([("a", 1)], Types.ROW([Types.STRING(), Types.INT()])), DataStream[Row])
    assert_type(
        env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()])), DataStream[tuple[str, int]]
    )
    assert_type(env.from_collection([1, 2]).map(lambda n: n / 2, Types.DOUBLE()), DataStream[float])
    assert_type(env.from_collection([{"a": 1}], Types.MAP(Types.STRING(), Types.LONG())), DataStream[dict[str, int]])


def collected(stream: DataStream[int], keyed: KeyedStream[int, str]) -> Iterable[int]:
    assert_type(stream.execute_and_collect("job", 3), list[int])
    assert_type(stream.execute_and_collect(limit=3), list[int])
    assert_type(keyed.execute_and_collect(limit=3), list[Row])
    assert_type(stream.execute_and_collect(), CloseableIterator[int])
    with stream.execute_and_collect() as results:
        for value in results:
            assert_type(value, int)
            yield value
