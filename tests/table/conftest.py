import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def t_env():
    """A streaming environment; nothing is run unless a test does."""
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows_of(result):
    """The rows of a statement that needs no job."""
    return [tuple(row) for row in result.collect()]
