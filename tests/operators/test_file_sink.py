"""The writer of file sinks: formats, attempts, and putting files together."""

from __future__ import annotations

import datetime
import itertools
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.orc
import pyarrow.parquet
import pytest

from firesteel.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from firesteel.common.serialization import BulkWriterFactory
from firesteel.connectors.files.committer import FileCommitter, FinishedPart
from firesteel.connectors.files.writer import FileWriter
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from firesteel.datastream.formats.orc import OrcBulkWriters
from firesteel.datastream.formats.parquet import ParquetBulkWriters
from firesteel.table import DataTypes
from firesteel.testing import Fault, run_local

FLAT = BucketAssigner.base_path_bucket_assigner()


def rows_of(path: Path, **rolling: int) -> FileSink.RowFormatBuilder:
    builder = FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).with_bucket_assigner(FLAT)
    return builder.with_rolling_policy(RollingPolicy.default_rolling_policy(**rolling))


_batches = itertools.count()


def context(
    subtask: int = 0,
    job_id: str = "job",
    checkpoints: list[bool] | None = None,
    savepoints: list[bool] | None = None,
    claims: bool = False,
    is_batch: bool = False,
) -> Any:
    """Each writer begins in a later batch; `checkpoints[-1]` says whether a checkpoint follows."""
    checkpoints, savepoints = checkpoints or [True], savepoints or [False]
    configuration = {"execution.state-recovery.claim-mode": "CLAIM"} if claims else {}
    return WriterInitContext(
        job_id,
        "sink",
        subtask,
        2,
        0,
        is_batch,
        Types.STRING(),
        configuration,
        lambda: 0,
        lambda: checkpoints[-1],
        lambda: savepoints[-1],
        (1, next(_batches), 1),
    )


def writer_of(builder: Any, state: Any = None, **who: Any) -> FileWriter:
    writer = FileWriter(builder.build().settings, context(**who))
    if state is not None:
        writer.restore_state(state)
    return writer


def commit(writer: FileWriter, *earlier: Any) -> None:
    committables = [*earlier, *writer.prepare_commit()]
    FileCommitter().commit([CommitRequest("job", "sink", 0, n, one) for n, one in enumerate(committables)])


def shown(directory: Path) -> list[str]:
    return [path.read_text() for path in sorted(directory.iterdir()) if not path.name.startswith(".")]


def hidden(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.name.startswith("."))


# --- attempts --------------------------------------------------------------------------------------------------------


def test_late_writes_of_an_earlier_attempt_are_never_visible(tmp_path: Path) -> None:
    first = writer_of(rows_of(tmp_path))
    first.write("a", None)
    first.flush(False)
    state = first.snapshot_state()
    first.write("lost", None)
    second = writer_of(rows_of(tmp_path), state)
    second.write("b", None)
    first.write("zombie", None)
    first.flush(True)
    second.flush(True)
    first.close()
    commit(second)
    assert shown(tmp_path) == ["a\nb\n"]
    assert hidden(tmp_path) == []


def test_version_is_resumed_although_its_part_was_published_meanwhile(tmp_path: Path) -> None:
    first = writer_of(rows_of(tmp_path))
    first.write("a", None)
    first.flush(False)
    state = first.snapshot_state()
    first.write("b", None)
    first.flush(True)
    commit(first)
    second = writer_of(rows_of(tmp_path), state)
    assert shown(tmp_path) == ["a\nb\n"]  # It does not vanish while it is written again.
    second.write("b", None)
    second.flush(True)
    commit(second)
    assert shown(tmp_path) == ["a\nb\n"]
    assert hidden(tmp_path) == []


def test_part_that_is_shorter_than_its_version_is_refused(tmp_path: Path) -> None:
    first = writer_of(rows_of(tmp_path))
    first.write("abc", None)
    first.flush(False)
    first.close()
    os.truncate(tmp_path / hidden(tmp_path)[0], 2)
    with pytest.raises(OSError, match=r"ends after 2 bytes, the version was taken at 4"):
        writer_of(rows_of(tmp_path), first.snapshot_state())


def test_parts_of_a_version_are_synced_first(tmp_path: Path, monkeypatch: Any) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    writer = writer_of(rows_of(tmp_path))
    writer.write("a", None)
    writer.flush(False)
    part = hidden(tmp_path)[0]
    assert synced == [part, tmp_path.name]
    writer.flush(False)
    assert len(synced) == 2  # Nothing was written meanwhile.
    writer.write("b", None)
    writer.flush(True)
    assert synced[2:] == [part]
    commit(writer)
    assert synced[3:] == [tmp_path.name]


def test_leftovers_of_failed_attempts_are_removed_and_pending_commits_are_not(tmp_path: Path) -> None:
    builder = rows_of(tmp_path, part_size=1)
    first = writer_of(builder)
    first.write("a", None)
    first.flush(False)
    awaiting = first.prepare_commit()
    state = first.snapshot_state()
    first.write("lost", None)
    first.flush(False)
    second = writer_of(builder, state)
    second.write("b", None)
    second.flush(False)
    assert len(hidden(tmp_path)) == 3  # Until it is decided, another leader may decide what the first has written.
    commit(second, *awaiting)
    assert shown(tmp_path) == ["a\n", "b\n"]
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("claims", [False, True])
def test_fewer_subtasks_of_another_job_take_the_parts_over(claims: bool, tmp_path: Path) -> None:
    states, writers = [], []
    for subtask in (0, 1):
        writer = writer_of(rows_of(tmp_path), subtask=subtask)
        writer.write(f"of {subtask}", None)
        writer.flush(False)
        states.append(writer.snapshot_state())
        writers.append(writer)
    other = writer_of(rows_of(tmp_path), job_id="other job", claims=claims)
    for state in states:
        other.restore_state(state)
    other.write("new", None)
    other.flush(True)
    commit(other)
    assert sorted("".join(shown(tmp_path)).split("\n")) == ["", "new", "of 0", "of 1"]
    assert len(hidden(tmp_path)) == (0 if claims else 2)
    for writer in writers:
        writer.close()


def test_a_job_and_its_fork_commit_into_files_of_their_own(tmp_path: Path) -> None:
    original = writer_of(rows_of(tmp_path))
    original.write("both", None)
    original.flush(False)
    fork = writer_of(rows_of(tmp_path), original.snapshot_state(), job_id="fork")
    for writer, text in ((original, "original"), (fork, "fork")):
        writer.write(text, None)
        writer.flush(True)
        commit(writer)
    assert sorted(shown(tmp_path)) == ["both\nfork\n", "both\noriginal\n"]
    assert hidden(tmp_path) == []


def test_a_second_leader_keeps_undecided_files_of_the_first(tmp_path: Path) -> None:
    """The first is paused between the end of a batch and its decision."""
    paused = writer_of(rows_of(tmp_path, part_size=1))
    paused.write("a", None)
    paused.flush(False)
    undecided = paused.prepare_commit()
    second = writer_of(rows_of(tmp_path, part_size=1))
    second.write("a", None)
    second.flush(False)
    requests = [CommitRequest("job", "sink", 0, number, part) for number, part in enumerate(undecided)]
    FileCommitter().check(requests)
    FileCommitter().commit(requests)
    assert shown(tmp_path) == ["a\n"]


def test_a_missing_part_is_rejected_before_the_decision(tmp_path: Path) -> None:
    writer = writer_of(rows_of(tmp_path))
    writer.write("a", None)
    writer.flush(True)
    (part, *_) = writer.prepare_commit()
    os.unlink(part.pending)
    with pytest.raises(FileNotFoundError, match="not found: cannot commit it as"):
        FileCommitter().check([CommitRequest("job", "sink", 0, 0, part)])


def test_a_savepoint_finishes_all_parts_so_that_it_needs_no_file_of_the_job(tmp_path: Path) -> None:
    savepoints = [False]
    writer = writer_of(rows_of(tmp_path), savepoints=savepoints)
    writer.write("a", None)
    writer.flush(False)
    assert shown(tmp_path) == []
    savepoints.append(True)
    writer.flush(False)
    commit(writer)
    state = writer.snapshot_state()
    assert shown(tmp_path) == ["a\n"]
    again = writer_of(rows_of(tmp_path), state, job_id="other job")
    for other in (writer, again):
        savepoints.append(False)
        other.write("b", None)
        other.flush(True)
        commit(other)
    assert sorted(shown(tmp_path)) == ["a\n", "b\n", "b\n"]


def test_new_buckets_are_synced_in_the_directories_that_hold_them(tmp_path: Path, monkeypatch: Any) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    builder = rows_of(tmp_path / "a" / "b").with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy"))
    writer = writer_of(builder)
    writer.write("a", None)
    writer.close()
    assert synced[:3] == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]


# --- bulk formats ----------------------------------------------------------------------------------------------------

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
PEOPLE = [Row("Ann", 11), Row('B"o,b', None), Row("Cy", 2**31)]


def run_people(sink: Any, row_type: Any = PERSON, people: Any = PEOPLE, is_batch: bool = False, **run: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_collection(people, row_type)
    stream.add_sink(sink) if isinstance(sink, StreamingFileSink) else stream.sink_to(sink)
    run_local(env, **run)


def people_schema() -> CsvSchema:
    builder = CsvSchema.builder().add_string_column("name").add_number_column("age", number_type=Types.INT())
    return builder.set_use_header().set_null_value("-").build()


@pytest.mark.parametrize("kind", [FileSink, StreamingFileSink])
@pytest.mark.parametrize("is_batch", [False, True])
def test_csv_files_have_a_header_each(kind: Any, is_batch: bool, tmp_path: Path) -> None:
    builder = kind.for_bulk_format(str(tmp_path), CsvBulkWriters.for_schema(people_schema()))
    run_people(builder.with_bucket_assigner(FLAT).build(), is_batch=is_batch, batch_elements=2, default_parallelism=1)
    files = shown(tmp_path)
    assert len(files) == (1 if is_batch else 2)
    lines = [line for file in files for line in file.splitlines() if line != "name,age"]
    assert sorted(lines) == sorted(["Ann,11", '"B""o,b",-', "Cy,-2147483648"])
    assert all(file.startswith("name,age\n") for file in files)


def test_parquet_files_have_a_column_per_field(tmp_path: Path) -> None:
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(PERSON))
    run_people(sink.with_bucket_assigner(FLAT).build(), batch_elements=2, replayed=[0], faults=[Fault(1, 0, 0)])
    found = [row for path in tmp_path.iterdir() for row in pyarrow.parquet.read_table(path).to_pylist()]
    expected = [("Ann", 11), ('B"o,b', None), ("Cy", -(2**31))]
    assert sorted(found, key=str) == sorted(({"name": name, "age": age} for name, age in expected), key=str)


MOMENT = datetime.datetime(2024, 1, 31, 12, 0, 0, 5000)


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.BOOLEAN(), True, True),
        (Types.SHORT(), 40000, -25536),
        (Types.DOUBLE(), 1.5, 1.5),
        (Types.BIG_DEC(), Decimal("1.25"), Decimal("1.25")),
        (Types.SQL_DATE(), MOMENT.date(), MOMENT.date()),
        (Types.SQL_TIME(), MOMENT.time(), MOMENT.time()),
        (Types.SQL_TIMESTAMP(), MOMENT, MOMENT),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0x", b"\0x"),
        (Types.LIST(Types.STRING()), ["a", "b"], ["a", "b"]),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, [("a", 1)]),
        (PERSON, Row("Ann", 11), {"name": "Ann", "age": 11}),
    ],
)
def test_parquet_holds_values_of_each_type(type_info: Any, value: Any, expected: Any, tmp_path: Path) -> None:
    row_type = Types.ROW_NAMED(["field"], [type_info])
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(row_type))
    run_people(sink.with_bucket_assigner(FLAT).build(), row_type, [Row(value), Row(None)])
    (path,) = tmp_path.iterdir()
    assert pyarrow.parquet.read_table(path).to_pylist() == [{"field": expected}, {"field": None}]


def test_orc_files_have_a_column_per_field(tmp_path: Path) -> None:
    types = [Types.STRING(), Types.INT(), Types.BIG_DEC(), Types.SQL_TIMESTAMP(), Types.LIST(Types.LONG()), PERSON]
    row_type = Types.ROW_NAMED(["name", "age", "due", "since", "numbers", "friend"], types)
    rows = [
        Row("Ann", 11, Decimal("1.25"), MOMENT, [1, 2], Row("Bo", 12)),
        Row(None, None, None, None, None, None),
    ]
    properties = Configuration.from_dict({"orc.compress": "snappy", "orc.stripe.size": "100000"})
    sink = FileSink.for_bulk_format(str(tmp_path), OrcBulkWriters.for_row_type(row_type, properties))
    run_people(sink.with_bucket_assigner(FLAT).build(), row_type, rows, replayed=[0])
    files = [pyarrow.orc.ORCFile(path) for path in tmp_path.iterdir()]
    assert {file.compression for file in files} == {"SNAPPY"}
    found = [row for file in files for row in file.read().to_pylist()]
    first = {"name": "Ann", "age": 11, "due": Decimal("1.25"), "since": MOMENT, "numbers": [1, 2]}
    first["friend"] = {"name": "Bo", "age": 12}
    assert sorted(found, key=str) == sorted([first, dict.fromkeys(first)], key=str)


@pytest.mark.parametrize("writers", [ParquetBulkWriters, OrcBulkWriters])
def test_a_row_type_of_tables_gives_the_types_of_columns(writers: Any, tmp_path: Path) -> None:
    fields = {
        "name": (DataTypes.VARCHAR(10), Types.STRING(), "Ann", "Ann"),
        "due": (DataTypes.DECIMAL(2, 0), Types.BIG_DEC(), Decimal("1.5"), Decimal(2)),
        "day": (DataTypes.DATE(), Types.SQL_DATE(), MOMENT.date(), MOMENT.date()),
        "since": (DataTypes.TIMESTAMP(3), Types.SQL_TIMESTAMP(), MOMENT, MOMENT),
        "numbers": (DataTypes.ARRAY(DataTypes.INT()), Types.LIST(Types.INT()), [1, 2], [1, 2]),
    }
    row_type = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, (kind, _, _, _) in fields.items()])
    stream_type = Types.ROW_NAMED(list(fields), [kind for _, kind, _, _ in fields.values()])
    sink = FileSink.for_bulk_format(str(tmp_path), writers.for_row_type(row_type)).with_bucket_assigner(FLAT).build()
    run_people(sink, stream_type, [Row(*(value for _, _, value, _ in fields.values())), Row(*[None] * len(fields))])
    (path,) = tmp_path.iterdir()
    table = pyarrow.parquet.read_table(path) if writers is ParquetBulkWriters else pyarrow.orc.ORCFile(path).read()
    expected = {name: value for name, (_, _, _, value) in fields.items()}
    assert table.to_pylist() == [expected, dict.fromkeys(fields)]
    assert table.schema.field("due").type == pyarrow.decimal128(2, 0)


def test_types_that_orc_files_cannot_hold_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="field 'at' is a time of day, which ORC does not support"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["at"], [Types.SQL_TIME()]))
    with pytest.raises(TypeError, match=r"takes a DataTypes.ROW or a Types.ROW_NAMED, found"):
        OrcBulkWriters.for_row_type(Types.INT())  # type: ignore[arg-type]
    for key, value, text in (
        ("orc.compress", "RAR", "must be NONE, ZLIB, SNAPPY, LZ4, ZSTD, found 'RAR'"),
        ("orc.nope", "1", "properties must be orc.compress, orc.stripe.size, found orc.nope"),
    ):
        with pytest.raises(ValueError, match=text):
            OrcBulkWriters.for_row_type(PERSON, Configuration.from_dict({key: value}))


def test_parquet_part_is_resumed_in_the_middle(tmp_path: Path) -> None:
    """The slot dies twice in the batch that finishes the part: before and after the file is made."""
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(PERSON)).with_bucket_assigner(
        FLAT
    )
    checkpoints = [False]
    first = writer_of(builder, checkpoints=checkpoints)
    first.write(Row("Ann", 1), None)
    first.flush(False)
    assert [part for part in first.prepare_commit() if isinstance(part, FinishedPart)] == []
    state = first.snapshot_state()
    first.write(Row("lost", 2), None)
    checkpoints.append(True)
    first.flush(False)
    second = writer_of(builder, state, checkpoints=checkpoints)
    second.write(Row("Bo", 3), None)
    second.close()
    third = writer_of(builder, state, checkpoints=checkpoints)
    third.write(Row("Cy", 4), None)
    third.flush(False)
    commit(third)
    (path,) = tmp_path.iterdir()
    assert [row["name"] for row in pyarrow.parquet.read_table(path).to_pylist()] == ["Ann", "Cy"]
    with pytest.raises(
        OSError, match="was published after the version was taken, and Parquet files can't be continued"
    ):
        writer_of(builder, state)


def test_a_savepoint_with_a_parquet_or_compacting_sink_is_valid_after_its_job_continued(tmp_path: Path) -> None:
    def program(savepoint: Path | None = None) -> StreamExecutionEnvironment:
        options = {} if savepoint is None else {"execution.state-recovery.path": str(savepoint)}
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
        env.set_parallelism(1)
        source = env.from_source(
            NumberSequenceSource(1, 30), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
        ).uid("numbers")
        rows = source.map(lambda n: Row(f"p{n}", n), PERSON)
        parquet = FileSink.for_bulk_format(str(tmp_path / "parquet"), ParquetBulkWriters.for_row_type(PERSON))
        rows.sink_to(parquet.with_bucket_assigner(FLAT).build()).uid("parquet")
        strategy = FileCompactStrategy.builder().set_size_threshold(1000)
        source.map(str, Types.STRING()).sink_to(compacting(tmp_path / "text", strategy).build()).uid("text")
        return env

    first = run_local(
        program(), batch_elements=4, batches=3, savepoint=tmp_path / "savepoint", checkpoint=tmp_path / "a"
    )
    run_local(program(), batch_elements=4, checkpoint=tmp_path / "a")
    run_local(program(first.savepoint), batch_elements=4, checkpoint=tmp_path / "b")
    numbers = [
        row["age"]
        for path in (tmp_path / "parquet").glob("[!.]*")
        for row in pyarrow.parquet.read_table(path).to_pylist()
    ]
    lines = [int(line) for path in (tmp_path / "text").glob("[!.]*") for line in path.read_text().split()]
    once, twice = list(range(1, 13)), list(range(13, 31)) * 2
    assert sorted(numbers) == sorted(lines) == sorted(once + twice)


def test_parquet_files_are_not_concatenated(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(PERSON))
    strategy = FileCompactStrategy.builder().set_size_threshold(4).build()
    with pytest.raises(ValueError, match="Parquet files can't be concatenated"):
        writer_of(builder.enable_compact(strategy, FileCompactor.concat_file_compactor()))


def test_bulk_format_without_writer_is_named(tmp_path: Path) -> None:
    sink = FileSink.for_bulk_format(str(tmp_path), BulkWriterFactory("xml")).build()
    with pytest.raises(Exception, match="no writer for bulk format 'xml'; there are avro, csv, orc, parquet"):
        run_people(sink)


# --- putting files together ------------------------------------------------------------------------------------------


def compacting(path: Path, strategy: Any, delimiter: bytes | None = None) -> Any:
    return rows_of(path, part_size=1).enable_compact(strategy.build(), FileCompactor.concat_file_compactor(delimiter))


def test_files_are_put_together_when_they_are_large_enough(tmp_path: Path) -> None:
    writer = writer_of(compacting(tmp_path, FileCompactStrategy.builder().set_size_threshold(4), b"--\n"))
    for text in "abc":
        writer.write(text, None)
        writer.flush(False)
        commit(writer)
    assert shown(tmp_path) == ["a\n--\nb\n"]
    writer.flush(True)
    commit(writer)
    assert sorted(shown(tmp_path)) == ["a\n--\nb\n", "c\n"]
    assert all(path.name.startswith("compacted-part-") for path in tmp_path.iterdir())


def test_files_are_compacted_after_the_configured_number_of_checkpoints(tmp_path: Path) -> None:
    writer = writer_of(compacting(tmp_path, FileCompactStrategy.builder().enable_compaction_on_checkpoint(2)))
    seen = []
    for text in "abcde":
        writer.write(text, None)
        writer.flush(False)
        commit(writer)
        seen.append(sorted(shown(tmp_path)))
    assert seen == [[], ["a\nb\n"], ["a\nb\n"], ["a\nb\n", "c\nd\n"], ["a\nb\n", "c\nd\n"]]


def test_files_to_compact_are_restored_and_leftovers_removed(tmp_path: Path) -> None:
    builder = compacting(tmp_path, FileCompactStrategy.builder().set_size_threshold(4))
    first = writer_of(builder)
    first.write("a", None)
    first.flush(False)
    state = first.snapshot_state()
    first.write("b", None)
    first.flush(False)
    second = writer_of(builder, state)
    second.write("c", None)
    second.flush(False)
    commit(second)
    assert shown(tmp_path) == ["a\nc\n"]
    assert hidden(tmp_path) == []


def test_sink_without_compaction_publishes_files_that_waited_for_it(tmp_path: Path) -> None:
    first = writer_of(compacting(tmp_path, FileCompactStrategy.builder().set_size_threshold(100)))
    first.write("a", None)
    first.flush(False)
    second = writer_of(rows_of(tmp_path), first.snapshot_state())
    second.flush(True)
    commit(second)
    assert shown(tmp_path) == ["a\n"]


def test_identical_compactor_leaves_files_as_they_are(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(4).set_num_compact_threads(2).build()
    writer = writer_of(
        rows_of(tmp_path, part_size=1).enable_compact(strategy, FileCompactor.identical_file_compactor())
    )
    for text in "ab":
        writer.write(text, None)
        writer.flush(False)
    commit(writer)
    assert shown(tmp_path) == ["a\n", "b\n"]


def test_a_strategy_that_never_compacts_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"set_size_threshold\(\) or enable_compaction_on_checkpoint\(\)"):
        FileCompactStrategy.builder().build()


@pytest.mark.slow
@pytest.mark.parametrize("after_rows", [0, 1, 100])
def test_compacted_files_hold_each_line_once_whatever_dies(after_rows: int, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = NumberSequenceSource(1, 40)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).rebalance()
    sink = compacting(tmp_path, FileCompactStrategy.builder().enable_compaction_on_checkpoint(3)).build()
    stream.map(str, Types.STRING()).sink_to(sink).uid("files")
    faults = [Fault(batch, stage, slot, after_rows) for batch in range(5) for stage in range(4) for slot in (0, 1)]
    run_local(env, batch_elements=3, faults=faults)
    lines = [int(line) for text in shown(tmp_path) for line in text.split()]
    assert sorted(lines) == list(range(1, 41))
    assert hidden(tmp_path) == []


def test_files_written_are_read_back(tmp_path: Path) -> None:
    run_people(rows_of(tmp_path).build(), Types.STRING(), ["a", "b"])
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING()).collect_async()
    assert sorted(run_local(env).elements) == ["a", "b"]


def test_csv_arrays_have_the_separators_that_they_are_read_with(tmp_path: Path) -> None:
    builder = CsvSchema.builder().add_string_column("a b").add_array_column("l", "|").add_array_column("x,y")
    schema = builder.remove_array_element_separator(2).set_array_element_separator("/").set_use_header().build()
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [Row("x", ["a", "b"], ["c", "d"])]
    sink = FileSink.for_bulk_format(str(tmp_path), CsvBulkWriters.for_schema(schema)).with_bucket_assigner(FLAT)
    env.from_collection(rows, schema.row_type).sink_to(sink.build())
    run_local(env, default_parallelism=1)
    assert shown(tmp_path) == ['"a b",l,"x,y"\nx,a|b,c/d\n']
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(tmp_path)).build()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").collect_async()
    assert [list(row) for row in run_local(env).elements] == [list(row) for row in rows]


def test_a_csv_array_without_a_separator_is_refused() -> None:
    builder = CsvSchema.builder().add_array_column("l").disable_array_element_separator()
    builder.build()
    with pytest.raises(ValueError, match="Column 'l': an array needs an array element separator"):
        builder.remove_array_element_separator(0).build()


def test_text_files_replace_characters_that_their_charset_does_not_have(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder("ISO-8859-1"))
    env.from_collection(["1 \u20ac"], Types.STRING()).sink_to(sink.with_bucket_assigner(FLAT).build())
    run_local(env, default_parallelism=1)
    assert shown(tmp_path) == ["1 ?\n"]
