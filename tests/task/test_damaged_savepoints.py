"""Savepoints whose files were damaged: a clear error that names the file, never other values, and no code is run."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.errors import FiresteelError
from firesteel.state_processor import OperatorIdentifier, inspect_savepoint
from firesteel.task.state_file import StateFileError
from firesteel.testing import run_local
from tests.task.older_savepoints import kinds

SEEDS = 40

Damage = Callable[[random.Random, list[Path]], str]
"""Damages one of the files, and returns its name, which the error must have."""


def flip(chosen: random.Random, files: list[Path]) -> str:
    path = chosen.choice(files)
    content = bytearray(path.read_bytes())
    for _ in range(chosen.choice((1, 1, 3, 20))):
        content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    path.write_bytes(content)
    return path.name


def cut(chosen: random.Random, files: list[Path]) -> str:
    path = chosen.choice(files)
    path.write_bytes(path.read_bytes()[: chosen.randrange(path.stat().st_size)])
    return path.name


def lengthen(chosen: random.Random, files: list[Path]) -> str:
    path = chosen.choice(files)
    path.write_bytes(path.read_bytes() + chosen.randbytes(chosen.choice((1, 8, 1000))))
    return path.name


def remove(chosen: random.Random, files: list[Path]) -> str:
    path = chosen.choice(files)
    path.unlink()
    return path.name


def swap(chosen: random.Random, files: list[Path]) -> str:
    """Put a whole, intact file in the place of another one."""
    first, second = chosen.sample([path for path in files if path.name != "_metadata"], 2)
    first.write_bytes(second.read_bytes())
    return first.name


def renew(chosen: random.Random, files: list[Path]) -> str:
    """Write a later format version."""
    path = chosen.choice(files)
    content = bytearray(path.read_bytes())
    content[10:12] = chosen.randrange(8, 1 << 15).to_bytes(2, "big")
    path.write_bytes(content)
    return path.name


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("savepoint")
    found = run_local(kinds.environment("hashmap"), batch_elements=5, batches=4, savepoint=directory).savepoint
    assert found is not None
    return Path(found)


@pytest.mark.parametrize("damage", [flip, cut, lengthen, remove, swap, renew], ids=lambda damage: damage.__name__)
def test_each_damage_is_an_error_that_names_the_file(damage: Damage, savepoint: Path, tmp_path: Path) -> None:
    for seed in range(SEEDS):
        copy = tmp_path / str(seed)
        shutil.copytree(savepoint, copy)
        before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
        name = damage(random.Random(seed), sorted(before))
        if all(path.exists() and path.read_bytes() == content for path, content in before.items()):
            continue  # equal files were swapped, or a bit was flipped twice
        with pytest.raises(FiresteelError) as raised:
            inspect_savepoint(str(copy))
        assert name in str(raised.value)
        assert str(copy) in str(raised.value)
        shutil.rmtree(copy)


def test_a_job_does_not_start_from_swapped_files(savepoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(savepoint, copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.name != "_metadata")
    first, second = next(
        (a, b) for a, b in itertools.combinations(files, 2) if a.parent.parent == b.parent.parent and a != b
    )
    first.write_bytes(second.read_bytes())
    with pytest.raises((StateFileError, RuntimeError), match="is not the file that the checkpoint means"):
        run_local(kinds.environment("hashmap", copy), batch_elements=5)


def test_operators_are_read_by_their_ids(savepoint: Path) -> None:
    ids = {operator.operator_id for operator in inspect_savepoint(str(savepoint)).operators}
    assert OperatorIdentifier.for_uid("kinds True").operator_id in ids
