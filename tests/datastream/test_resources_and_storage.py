from __future__ import annotations

import pytest

from firesteel.common.serialization import Encoder, RowFieldExtractorSchema
from firesteel.datastream import EmbeddedRocksDBStateBackend, FileSystemCheckpointStorage, SlotSharingGroup
from firesteel.datastream.slot_sharing_group import MemorySize

NOTHING = MemorySize.of_mebi_bytes(0)
SOME = MemorySize.of_mebi_bytes(10)


@pytest.mark.parametrize(
    "declare",
    [
        lambda builder: builder.set_cpu_cores(1.0),
        lambda builder: builder.set_task_heap_memory(SOME),
        lambda builder: builder.set_task_off_heap_memory(NOTHING),
        lambda builder: builder.set_managed_memory(SOME),
        lambda builder: builder.set_external_resource("gpu", 1.0),
        lambda builder: builder.set_cpu_cores(1.0).set_task_heap_memory(NOTHING),
        lambda builder: builder.set_cpu_cores(1.0).set_task_heap_memory(NOTHING).set_task_off_heap_memory(SOME),
        lambda builder: builder.set_cpu_cores(0.0).set_task_heap_memory(SOME),
        lambda builder: builder.set_cpu_cores(1.0).set_task_heap_memory(SOME).set_external_resource("gpu", 0.0),
    ],
)
def test_incomplete_resources_are_refused(declare):
    with pytest.raises(ValueError, match=r"must be|greater than 0"):
        declare(SlotSharingGroup.builder("group")).build()


def test_complete_resources_or_none_are_accepted():
    assert SlotSharingGroup.builder("group").build().get_cpu_cores() is None
    builder = SlotSharingGroup.builder("group").set_cpu_cores(1.0).set_task_heap_memory(SOME)
    assert builder.set_external_resource("gpu", 1.0).build().get_external_resources() == {"gpu": 1.0}


@pytest.mark.parametrize(
    ("path", "shown"),
    [("file:///tmp/x/", "file:/tmp/x"), ("file://var/checkpoints/", "file://var/checkpoints"), ("/tmp/x", "/tmp/x")],
)
def test_a_checkpoint_path_has_no_trailing_slash(path, shown):
    assert FileSystemCheckpointStorage(path).get_checkpoint_path() == shown


def test_storage_paths_of_rocksdb_are_plain_paths():
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///tmp/x/", "/tmp/y/", "file:/tmp/z")
    assert backend.get_db_storage_paths() == ["/tmp/x", "/tmp/y", "/tmp/z"]


def test_a_field_index_is_not_negative():
    with pytest.raises(ValueError, match="Field index must be non-negative, got: -1"):
        RowFieldExtractorSchema(-1)


def test_several_storage_paths_are_separated_as_the_store_reads_them():
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/tmp/x", "/tmp/y")
    assert backend.to_options()["state.backend.rocksdb.localdir"] == "/tmp/x,/tmp/y"


@pytest.mark.parametrize("paths", [(), ("x",), ("s3://bucket/x",), ("/x,y",), ("/x:y",)])
def test_storage_paths_must_be_local_and_absolute(paths):
    with pytest.raises(ValueError, match=r"path|Path|separates"):
        EmbeddedRocksDBStateBackend().set_db_storage_paths(*paths)


@pytest.mark.parametrize(
    "resources",
    [
        {"cpu_cores": -1, "task_heap_memory": MemorySize(1)},
        {"cpu_cores": float("nan"), "task_heap_memory": MemorySize(1)},
        {"cpu_cores": 1.0},
        {"cpu_cores": 1.0, "task_heap_memory": MemorySize(0)},
        {"managed_memory": MemorySize(1)},
    ],
)
def test_resources_that_the_builder_refuses_are_refused_by_the_constructor(resources):
    with pytest.raises(ValueError, match=r"must be"):
        SlotSharingGroup("g", **resources)


@pytest.mark.parametrize("cores", [float("nan"), float("inf")])
def test_cores_are_finite(cores):
    with pytest.raises(ValueError, match="must be greater than 0"):
        SlotSharingGroup.builder("g").set_cpu_cores(cores)


def test_characters_that_a_charset_does_not_have_are_replaced():
    assert Encoder.simple_string_encoder("ISO-8859-1").encode("1 \u20ac") == b"1 ?\n"
