from firesteel.common import Types

LINES = ["to be or not to be", "", "that is not it"]
STREAMING = [
    "(to,1)", "(be,1)", "(or,1)", "(not,1)", "(to,2)", "(be,2)", "(that,1)", "(is,1)", "(not,2)", "(it,1)",
]  # fmt: skip
BATCH = ["(to,2)", "(be,2)", "(or,1)", "(not,2)", "(that,1)", "(is,1)", "(it,1)"]


def split(line):
    if not line:
        return None
    return (word for word in line.split())


def build(env):
    words = env.from_collection(LINES, Types.STRING()).rebalance().flat_map(split, Types.STRING())
    pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).print()
