"""The committed pictures are up to date."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate.diagrams import DIAGRAMS, IMAGES
from docs.generate.first_hour import last_screen, picture_of
from docs.generate.plots import PLOTS, rows_below
from tests.cli.session import firesteel

DOCS = Path(__file__).parents[2] / "docs"
OWN = {name: draw for name, draw in {**DIAGRAMS, **PLOTS}.items() if not name.startswith("states_")}
STATES = {name: draw for name, draw in DIAGRAMS.items() if name.startswith("states_")}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.mark.parametrize(("name", "draw"), OWN.items(), ids=list(OWN))
def test_the_picture_is_up_to_date(name: str, draw: Callable[[], str]) -> None:
    assert (IMAGES / name).read_text() == draw(), "run: python -m docs.generate.diagrams; python -m docs.generate.plots"


def texts(svg: str) -> list[str]:
    return sorted(text for text in ElementTree.fromstring(svg).itertext() if text.strip())


@pytest.mark.parametrize(("name", "draw"), STATES.items(), ids=list(STATES))
def test_the_state_diagram_has_the_states_of_today(name: str, draw: Callable[[], str]) -> None:
    """Versions of Graphviz place shapes differently."""
    assert texts((IMAGES / name).read_text()) == texts(draw()), "run: python -m docs.generate.diagrams"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hour_plan.svg", "hour_check.svg"])
def test_the_picture_of_a_command_has_the_output_of_today(name: str, tmp_path: Path) -> None:
    """The commands of the other pictures start Java, or run until they are stopped."""
    firesteel("examples", str(tmp_path / "examples"))
    assert texts((IMAGES / name).read_text()) == texts(picture_of(name, tmp_path / "examples")), "run: make pictures"


def test_the_last_screen_of_a_terminal_has_what_was_not_erased() -> None:
    live = "old\r\nfirst\r\nsecond\r\x1b[2K\x1b[1A\x1b[2Kprinted\r\nthird"
    assert last_screen(live) == "old\nprinted\nthird"
    assert last_screen(live + "\x1b[?1049h\x1b[Hscreen\r\n") == "screen"


def test_each_picture_is_shown() -> None:
    pages = "".join(path.read_text() for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"])
    assert [path.name for path in sorted(IMAGES.iterdir()) if path.name not in pages] == []


def test_rows_of_a_table_are_read() -> None:
    rows = rows_below("2026-11-22_start.md", "Start")
    assert ["PySpark by hand", "6.7", "1.00"] in rows


def test_a_missing_table_is_reported() -> None:
    with pytest.raises(ValueError, match="no heading that begins with 'Nothing'"):
        rows_below("2026-11-22_start.md", "Nothing")
