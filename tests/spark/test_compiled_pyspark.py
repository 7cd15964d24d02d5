"""Python workers import PySpark with its bytecode, where that is the PySpark of the Spark that started them."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.spark.compiled_pyspark import prefer_compiled_pyspark


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory of packages with PySpark in it."""
    library = tmp_path / "site-packages" / "pyspark" / "python" / "lib"
    library.mkdir(parents=True)
    (tmp_path / "site-packages" / "pyspark" / "__init__.py").touch()
    return tmp_path / "site-packages"


def test_archives_of_the_installed_package_come_last(installed: Path) -> None:
    library = installed / "pyspark" / "python" / "lib"
    archives = [str(library / "pyspark.zip"), str(library / "py4j-0.10.9.9-src.zip")]
    assert prefer_compiled_pyspark([*archives, "/program", str(installed)]) == ["/program", str(installed), *archives]


def test_archives_of_another_spark_stay_in_front(installed: Path, tmp_path: Path) -> None:
    paths = [str(tmp_path / "spark" / "python" / "lib" / "pyspark.zip"), str(installed)]
    assert prefer_compiled_pyspark(paths) == paths
    other = tmp_path / "other" / "pyspark" / "python" / "lib" / "pyspark.zip"
    assert prefer_compiled_pyspark([str(other), str(installed)]) == [str(other), str(installed)]


def test_archives_stay_in_front_where_their_package_is_not_imported(installed: Path) -> None:
    paths = [str(installed / "pyspark" / "python" / "lib" / "pyspark.zip"), "/program"]
    assert prefer_compiled_pyspark(paths) == paths
