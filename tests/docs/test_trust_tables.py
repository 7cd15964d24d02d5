"""The tables of unpickling in the documentation and in the sources are the same; for sockets see tests/cli."""

from __future__ import annotations

import ast
import re

import pytest

from firesteel.common.options.sensitive_values import masked_value
from tests.docs.trust_tables import PAGE, rows_of
from tests.unpickling import _places, unpicklings


def test_each_place_that_unpickles_is_in_the_table() -> None:
    documented = [
        (file, place)
        for code, *_ in rows_of("Unpickling")
        for file, places in [code.split(": ", 1)]
        for place in re.findall(r"`([^`]+)`", places)
        for file in [file.strip("`")]
    ]
    assert len(documented) == len(set(documented))
    assert set(documented) == unpicklings()


@pytest.mark.parametrize("name", ["Listening sockets", "Unpickling"])
def test_each_row_says_who_and_what(name: str) -> None:
    for row in rows_of(name):
        assert len(row) == 4
        assert all(row), row


@pytest.mark.parametrize(
    "source",
    [
        "import pickle\ndef f(): return pickle.loads(b'')",
        "import pickle as p\ndef f(): return p.load(x)",
        "from pickle import loads\ndef f(): return loads(b'')",
        "from cloudpickle import loads as read\ndef f(): return read(b'')",
        "import pickle\nclass f(pickle.Unpickler): pass",
        "import marshal\ndef f(): return marshal.loads(b'')",
        "import pickle\ndef f(load=pickle.loads): pass",
        "import numpy\ndef f(): return numpy.load(x, allow_pickle=True)",
        "import pandas\ndef f(): return pandas.read_pickle(x)",
        "import yaml\ndef f(): return yaml.unsafe_load(x)",
    ],
)
def test_the_scan_sees_each_way(source: str) -> None:
    assert set(_places(ast.parse(source))) == {"f"}


def test_no_page_puts_a_secret_on_a_command_line() -> None:
    root = PAGE.parents[2]
    pages = [
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("deploy/**/*.yaml"),
        *root.glob("examples/**/*"),
    ]
    given = re.compile(r"(?:-D\s*|--conf[ =]|--)([\w.-]+)=(?!\$\()")
    wrong = [
        f"{path.relative_to(root)}: {found.group()}"
        for path in pages
        if path.is_file()
        for found in given.finditer(path.read_text(errors="replace"))
        if masked_value(found.group(1), "shown") != "shown" and not found.group(1).endswith("-file")
    ]
    assert wrong == []


def test_the_scan_leaves_pickling_alone() -> None:
    assert list(_places(ast.parse("import pickle\ndef f(): return pickle.dumps(1), open('x'), json.loads('1')"))) == []
