"""Counts the words of two lines: the program of the README.

firesteel run examples/to_be.py
"""

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
lines = env.from_collection(["to be or not to be", "that is the question"], Types.STRING())
words = lines.flat_map(lambda line: line.split(), Types.STRING())
pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
counts = pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1]))
counts.print()
env.execute("to be")
