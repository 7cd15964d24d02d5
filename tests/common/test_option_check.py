"""Programs, SET in SQL and submissions refuse the same options, where they are set."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.client.execution import tell_of_options
from firesteel.common.configuration import Configuration
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_check import check_option, check_options, note_without_counterpart
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.state_backend import EmbeddedRocksDBStateBackend
from firesteel.gateway.session_context import SessionContext
from firesteel.runtime.dispatcher.dispatcher_gateway import JobSubmissionError
from firesteel.runtime.dispatcher.job_submission import check_job_graph
from firesteel.table import EnvironmentSettings, TableConfig
from firesteel.table.syntax.statements import SetOption
from tests.runtime.helpers import job_graph

REFUSED = [
    ("execution.checkpointing.intervall", "1 s", "did you mean 'execution.checkpointing.interval'"),
    (
        "execution.checkpointing.interval",
        "1 sek",
        "option 'execution.checkpointing.interval': '1 sek' is not a duration",
    ),
    ("heartbeat.interval", "0 s", "option 'heartbeat.interval': '0 s' is no duration above 0"),
    ("pipeline.max-parallelism", "0", "'0' is neither -1 nor a whole number from 1 to 32768"),
    ("pipeline.max-parallelism", "32769", "'32769' is neither -1 nor a whole number from 1 to 32768"),
    ("taskmanager.slot.timeout", "0", "option 'taskmanager.slot.timeout': '0' is no duration above 0"),
    ("pekko.ask.timeout", "0 ms", "option 'pekko.ask.timeout': '0 ms' is no duration above 0"),
    ("state.checkpoints.num-retained", "0", "option 'state.checkpoints.num-retained': '0' is not a whole number of at"),
    ("execution.checkpointing.storage", "com.mine.Storage", "other storages are Java classes; allowed: 'filesystem'"),
    ("table.exec.legacy-cast-behaviour", "enabled", "CAST follows the SQL standard only"),
    ("table.exec.emit.early-fire.enabled", "true", "a window emits one result"),
    ("table.exec.emit.late-fire.delay", "1 min", "a window emits one result"),
    ("table.exec.emit.allow-lateness", "1 h", "rows behind the watermark are dropped"),
    ("table.exec.non-temporal-sort.enabled", "true", "a stream is sorted by its time"),
    ("security.ssl.internal.cert.fingerprint", "00", "put only that certificate into the truststore"),
]


def program(configuration: Configuration) -> None:
    StreamExecutionEnvironment.get_execution_environment(configuration)


def program_later(configuration: Configuration) -> None:
    StreamExecutionEnvironment.get_execution_environment().configure(configuration)


def table_settings(configuration: Configuration) -> None:
    EnvironmentSettings.new_instance().with_configuration(configuration)


def table_config(configuration: Configuration) -> None:
    for key, value in configuration.to_dict().items():
        TableConfig().set(key, value)


def sql(configuration: Configuration) -> None:
    for key, value in configuration.to_dict().items():
        SessionContext({}).execute(SetOption(key, value))


def session(configuration: Configuration) -> None:
    SessionContext(configuration.to_dict())


def submission(configuration: Configuration) -> None:
    check_job_graph(job_graph(("a", 1, []), configuration=configuration.to_dict()), {})


DOORS = [program, program_later, table_settings, table_config, sql, session, submission]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("key", "value", "message"), REFUSED)
def test_each_door_refuses_it(door: Callable[[Configuration], None], key: str, value: str, message: str) -> None:
    with pytest.raises((InvalidOptionError, JobSubmissionError)) as caught:
        door(Configuration.from_dict({key: value}))
    assert message in str(caught.value)


@pytest.mark.parametrize("door", DOORS)
def test_each_door_accepts_what_happens_anyway_what_has_no_counterpart_and_what_is_the_users(
    door: Callable[[Configuration], None],
) -> None:
    door(
        Configuration.from_dict(
            {
                "execution.checkpointing.storage": "filesystem",
                "execution.checkpointing.unaligned.enabled": "true",
                "taskmanager.memory.managed.fraction": "0.4",
                "cleanup-strategy.type": "exponential-delay",
                "high-availability.zookeeper.path.latch": "/of-an-older-flink",
                "my.own": "1",
            }
        )
    )


def test_a_refused_secret_is_not_shown() -> None:
    with pytest.raises(InvalidOptionError) as caught:
        check_option("security.ssl.keystore-password", "geheim")
    assert "geheim" not in str(caught.value)


def test_the_config_yaml_of_a_distribution_of_flink_is_accepted() -> None:
    options = {
        "env.java.opts.all": "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
        "jobmanager.bind-host": "localhost",
        "jobmanager.rpc.address": "localhost",
        "jobmanager.rpc.port": "6123",
        "jobmanager.memory.process.size": "1600m",
        "jobmanager.execution.failover-strategy": "region",
        "taskmanager.bind-host": "localhost",
        "taskmanager.host": "localhost",
        "taskmanager.numberOfTaskSlots": "1",
        "taskmanager.memory.process.size": "1728m",
        "parallelism.default": "1",
        "rest.address": "localhost",
        "rest.bind-address": "localhost",
        "rest.bind-port": "8080-8090",
        "fs.default-scheme": "hdfs://mynamenode:12345",
        "high-availability.type": "zookeeper",
        "state.backend.type": "hashmap",
        "execution.checkpointing.interval": "3min",
        "execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION",
        "execution.checkpointing.max-concurrent-checkpoints": "1",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.incremental": "false",
        "web.submit.enable": "false",
        "io.tmp.dirs": "/tmp",
        "classloader.resolve-order": "child-first",
        "taskmanager.memory.network.fraction": "0.1",
        "security.kerberos.login.use-ticket-cache": "true",
        "jobmanager.archive.fs.dir": "hdfs:///completed-jobs/",
        "historyserver.web.address": "0.0.0.0",
    }
    check_options(options)
    assert note_without_counterpart(options) == (
        "these options of Flink have no counterpart here and no effect: classloader.resolve-order, env.java.opts.all, "
        "execution.checkpointing.incremental, execution.checkpointing.mode, jobmanager.memory.process.size, "
        "taskmanager.memory.network.fraction"
    )


def test_a_submission_names_what_has_no_counterpart_and_what_is_unknown_once(caplog: pytest.LogCaptureFixture) -> None:
    options = {"pekko.throughput": "1", "metrics.scope.jm": "a", "state.backend.async": "true", "my.own": "1"}
    tell_of_options(job_graph(("a", 1, []), configuration=options))
    assert [record.getMessage() for record in caplog.records] == [
        "job 'job': there is no option 'state.backend.async'; did you mean 'state.backend'?",
        "job 'job': these options of Flink have no counterpart here and no effect: metrics.scope.jm, pekko.throughput",
    ]


def test_an_unknown_option_in_a_session_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    SessionContext({}).execute(SetOption("state.backend.async", "true"))
    assert [record.getMessage() for record in caplog.records] == [
        "SET: there is no option 'state.backend.async'; did you mean 'state.backend'?"
    ]


def test_an_option_of_a_cluster_that_runs_causes_a_warning_in_a_session(caplog: pytest.LogCaptureFixture) -> None:
    for options in ({}, {"execution.target": "remote", "rest.address": "host:8081"}):
        session = SessionContext(options)
        for key, value in (("taskmanager.slot.timeout", "1 min"), ("pipeline.name", "job")):
            session.execute(SetOption(key, value))
    assert [record.getMessage() for record in caplog.records] == [
        "SET: taskmanager.slot.timeout has no effect here: it is read by a cluster when it starts"
    ]


def test_a_submission_is_silent_about_defaults_and_tells_of_a_jar_once(caplog: pytest.LogCaptureFixture) -> None:
    backend = EmbeddedRocksDBStateBackend()
    job = job_graph(("a", 1, []), configuration={"pipeline.jars": "a-kafka.jar", **backend.to_options()})
    tell_of_options(job)
    tell_of_options(job)
    assert [record.getMessage() for record in caplog.records] == [
        "job 'job': a-kafka.jar: not needed: Kafka is built in"
    ]
    backend.set_number_of_transfer_threads(8)
    tell_of_options(job_graph(("a", 1, []), configuration=backend.to_options()))
    assert caplog.records[-1].getMessage().endswith("no effect: state.backend.rocksdb.checkpoint.transfer.thread.num")
