"""Import of PySpark from its installed package instead of Spark's source archives, in Python workers.

Spark puts `pyspark.zip` and Py4J's archive in front of all other paths. They hold no bytecode, so each start of the
workers' daemon would compile hundreds of modules, which takes longer than everything else that the daemon does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def prefer_compiled_pyspark(paths: Sequence[str]) -> list[str]:
    """Move Spark's archives to the end of the paths if their package is installed on another path.

    If Spark is not installed as a Python package but as its own distribution, nothing changes, because another
    installed PySpark may not fit that Spark.
    """
    archives = [path for path in paths if _is_in_installed_package(Path(path), paths)]
    return [path for path in paths if path not in archives] + archives


def _is_in_installed_package(archive: Path, paths: Sequence[str]) -> bool:
    """Return whether the path is an archive of the PySpark that is imported from the other paths."""
    if archive.suffix != ".zip" or archive.parent.parts[-3:] != ("pyspark", "python", "lib"):
        return False
    package = archive.parents[2]
    installed = (Path(path) / "pyspark" for path in paths)
    first = next((path for path in installed if (path / "__init__.py").is_file()), None)
    return first is not None and first.resolve() == package.resolve()
