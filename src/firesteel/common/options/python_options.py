"""Options of a program's Python."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, integer_from, path, paths
from firesteel.common.options.option import Option

PYTHON_OPERATOR_CHAINING = Option(
    "python.operator-chaining.enabled",
    boolean,
    "true",
    "Merge consecutive Python operators into one operator",
)
PYTHON_ARROW_ROWS = Option(
    "python.fn-execution.arrow.batch.size",
    integer_from(0),
    "0",
    "Most rows for which a pandas function is called at a time; 0 for all rows of a column batch",
)
PYTHON_BUNDLE_ROWS = Option("python.fn-execution.bundle.size", integer_from(0), "0", "The same; the lower one counts")
PYTHON_FILES = Option("python.files", paths, None, "Python files, packages and zips that the job imports")
PYTHON_REQUIREMENTS = Option("python.requirements", path, None, "Requirements file that pip installs for the job")
PYTHON_ARCHIVES = Option("python.archives", paths, None, "Archives that the job reads from")
PYTHON_EXECUTABLE = Option("python.executable", path, "python", "Interpreter of Spark's executors")
