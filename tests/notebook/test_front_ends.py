"""What front ends show that have no HTML, such as IPython in a terminal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import firesteel
from firesteel.client import progress
from firesteel.client.progress import progress_reporter
from firesteel.common import Types
from firesteel.common.table_errors import ValidationException
from firesteel.common.types import Row
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import EnvironmentSettings, TableEnvironment

pytest.importorskip("IPython")

from IPython.lib.pretty import pretty

from firesteel.notebook import NotebookLine, SqlMagic, magics

pytestmark = pytest.mark.libraries


class Shell(SimpleNamespace):
    """A shell as IPython's, with a kernel or without."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(user_ns={}, magics={}, **attributes)

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[name] = function

    def set_custom_exc(self, classes: Any, handler: Any) -> None:
        """Ignore the handler."""


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_tables_streams_and_results_are_text_where_nobody_shows_html(t_env: TableEnvironment) -> None:
    table = t_env.from_elements([(1, "a")], ["n", "word"])
    assert pretty(table).splitlines()[:3] == ["column  type", "n       BIGINT", "word    STRING"]
    assert "Not executed: execute().print()" in pretty(table)
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1], Types.INT())
    assert pretty(stream).splitlines()[:3] == ["DataStream", "name        Collection Source", "type        Integer"]
    assert pretty(t_env.execute_sql("SHOW DATABASES")) == "database name\ndefault_database"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_the_rows_of_a_query_once(
    t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    shown: list[str] = []

    def display(shown_table: object, **_: object) -> SimpleNamespace:
        shown.append(repr(shown_table))
        return SimpleNamespace(update=lambda newer: shown.append(repr(newer)))

    monkeypatch.setattr(magics, "display", display)
    view = magics._View(t_env.execute_sql("SHOW DATABASES"), 20, False, is_terminal)
    view.refresh([Row("a")])
    view.show([Row("a")], "ended")
    assert shown[-1] == "database name\na\n1 row; ended"
    assert len(shown) == (1 if is_terminal else 3)


@pytest.mark.parametrize(("attributes", "has_line"), [({}, False), ({"kernel": object()}, True)])
def test_only_a_kernel_has_a_line_that_its_front_end_changes(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, object], has_line: bool
) -> None:
    monkeypatch.setattr(progress, "_reporter", [])
    firesteel.load_ipython_extension(Shell(**attributes))
    assert isinstance(progress_reporter(), NotebookLine) == has_line


def test_batch_mode_of_an_environment_that_streams_is_refused(t_env: TableEnvironment) -> None:
    shell = Shell()
    shell.user_ns["t_env"] = t_env
    with pytest.raises(
        ValidationException, match=r"t_env is in streaming mode; name another variable: %%sql --batch -e"
    ):
        SqlMagic(shell)("--batch", "SELECT 1")
    SqlMagic(shell)("--batch -e other", "SET 'parallelism.default' = '1'")
    assert shell.user_ns["other"].get_config().get("execution.runtime-mode", "") == "BATCH"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-n many", "%%sql -n many: argument -n/--rows: invalid int value: 'many'"),
        ("-n 0", "%%sql -n 0: expected at least 1 row"),
        ("-o 'rows", "%%sql -o 'rows: No closing quotation"),
        ("SELECT 1", "%%sql has no option SELECT; its help is: %%sql?"),
    ],
)
def test_wrong_options_are_one_message(line: str, message: str) -> None:
    with pytest.raises(ValidationException) as raised:
        SqlMagic(Shell())(line, "SELECT 1")
    assert str(raised.value) == message
