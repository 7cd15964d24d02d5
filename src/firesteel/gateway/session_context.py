"""The state of a SQL session: table environment, options and jobs (Flink: `gateway.service.context.SessionContext`).

Sessions of the SQL client (`firesteel sql`) and of the gateway share it.
"""

from __future__ import annotations

import datetime
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from firesteel.client.rest_client import DEFAULT_ADDRESS, TOKEN, RestClusterClient
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.options.execution_options import EXECUTION_TARGET, RUNTIME_MODE
from firesteel.common.options.known_options import doubt_about
from firesteel.common.options.option import Option
from firesteel.common.options.option_check import check_option
from firesteel.common.options.option_readers import Reader, note_of_unread
from firesteel.common.options.pipeline_options import PIPELINE_NAME
from firesteel.common.options.rest_options import REST_ADDRESS
from firesteel.common.options.sensitive_values import masked
from firesteel.common.options.table_options import SQL_CLIENT_MAX_ROWS, SQL_CLIENT_RESULT_MODE, TABLE_DML_SYNC
from firesteel.common.table_errors import TableException
from firesteel.common.types import Row
from firesteel.table import EnvironmentSettings, StreamTableEnvironment
from firesteel.table.execution.print_style import PrintStyle
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.statements import Statement
from firesteel.table.table_parts import executor_of, planner_of, row_type_of, set_streaming
from firesteel.table.table_result import TableResult, ok
from firesteel.table.types import DataTypes, RowType

T = TypeVar("T")
MODE = RUNTIME_MODE.key
_MODES = ("streaming", "batch")
_OWN = (SQL_CLIENT_RESULT_MODE.key, SQL_CLIENT_MAX_ROWS.key, TABLE_DML_SYNC.key)
"""Options of the session itself, which are not passed to the table environment."""


_JOB_COLUMNS = ["job id", "job name", "status", "start time"]


_QUERIES_KEPT = 100
"""How many of the latest queries SHOW JOBS lists; a session at a prompt may have any number of them."""

_logger = logging.getLogger(__name__)


class SessionJob(NamedTuple):
    """A job that a statement of the session has started: an INSERT, or a query, whose rows end with its statement."""

    client: JobClient
    name: str
    started_ms: int
    is_query: bool = False


class SessionContext:
    """Table environment, options and jobs of a session.

    Args:
        options: Initial options, to which RESET returns.
        fixed: Prefixes of options that the session cannot change, as they decide whom this process trusts and where it
            sends its token.
    """

    def __init__(self, options: Mapping[str, str], fixed: tuple[str, ...] = ()) -> None:
        self._fixed = fixed
        self._initial = {MODE: "STREAMING", **options}
        for key, value in self._initial.items():
            _check(key, value)
        self._own = {key: value for key, value in options.items() if key in _OWN}
        settings = EnvironmentSettings.new_instance().with_configuration(Configuration.from_dict(self.table_options))
        self.table_env = StreamTableEnvironment.create(environment_settings=settings.build())
        self._configuration = self.table_env.get_config().get_configuration()
        self.jobs: list[SessionJob] = []

    # --- options -----------------------------------------------------------------------------------------------------

    @property
    def table_options(self) -> dict[str, str]:
        """Return the initial options of the table environment."""
        return {key: value for key, value in self._initial.items() if key not in _OWN}

    @property
    def is_streaming(self) -> bool:
        """Return whether queries run in streaming mode."""
        return self.get(RUNTIME_MODE) != "BATCH"

    @property
    def waits_for_inserts(self) -> bool:
        """Return whether an INSERT ends with its job (`table.dml-sync`)."""
        return self.get(TABLE_DML_SYNC)

    @property
    def time_zone(self) -> datetime.tzinfo:
        """Return the time zone of texts of TIMESTAMP_LTZ, the one in which queries are executed.

        Raises:
            ValueError: `table.local-time-zone` names no time zone.
        """
        return self.table_env.get_config().time_zone

    def get(self, option: Option[T]) -> T:
        """Return the value of an option."""
        return option.of(self._own) if option.key in _OWN else self._configuration.get(option)

    def options(self) -> dict[str, str]:
        """Return all options that are set."""
        return self._configuration.to_dict() | self._own

    def shown_options(self) -> dict[str, str]:
        """Return all options that are set, with secrets masked."""
        return masked(self.options())

    def set_option(self, key: str, value: str | None) -> None:
        """Set an option; None removes it.

        Raises:
            ValueError: the option does not have this value, or belongs to the process.
        """
        if key.startswith(self._fixed) and value != self._initial.get(key):
            raise ValueError(f"option '{key}' belongs to the process of the SQL gateway: a session cannot change it")
        if value is not None:
            _check(key, value)
        if key in _OWN:
            self._own = {k: v for k, v in {**self._own, key: value}.items() if v is not None}
        elif value is None:
            self._configuration.remove_config(key)
        else:
            self._configuration.set_string(key, value.upper() if key == MODE else value)
        if key == MODE:
            set_streaming(self.table_env, (value or "STREAMING").upper() == "STREAMING")

    def reset_option(self, key: str | None) -> None:
        """Return an option, or all of them if `key` is None, to the initial value."""
        # Also initial ones that were removed, which come back.
        for name in self.options() | self._initial if key is None else [key]:
            self.set_option(name, self._initial.get(name))

    @contextmanager
    def overridden(self, options: Mapping[str, str]) -> Iterator[None]:
        """Set options for one statement."""
        before = {key: self.options().get(key) for key in options}
        try:
            for key, value in options.items():
                self.set_option(key, value)
            yield
        finally:
            for key, former in before.items():
                self.set_option(key, former)

    # --- statements --------------------------------------------------------------------------------------------------

    def execute(self, statement: Statement) -> TableResult:
        """Execute a parsed statement, including SET, RESET and statements about jobs, which belong to the session.

        Raises:
            TableException: the statement is invalid or not supported.
            ValueError: an option does not have this value.
        """
        if isinstance(statement, s.SetOption):
            return self._set(statement)
        if isinstance(statement, s.Show) and statement.what == "JOBS":
            return _texts(_JOB_COLUMNS, self._job_rows())
        if isinstance(statement, s.Describe) and statement.kind == "JOB":
            return _texts(_JOB_COLUMNS, [self._job_row(statement.path[0])])
        if isinstance(statement, s.StopJob):
            return self._stop(statement)
        executor = executor_of(self.table_env)
        if isinstance(statement, s.Query):
            result = executor.collect(planner_of(self.table_env).resolve(statement.query), exact=True)
            self._keep_job(result, "collect", is_query=True)
            return result
        result = executor.execute(statement)
        if result.get_job_client() is not None:
            self._keep_job(result, "insert-into_" + ",".join(row_type_of(result).names), is_query=False)
        return result

    def _keep_job(self, result: TableResult, name: str, is_query: bool) -> None:
        client = result.get_job_client()
        if client is None:  # The planner knows the rows of some queries.
            return
        self.jobs.append(SessionJob(client, self.get(PIPELINE_NAME) or name, int(time.time() * 1000), is_query))
        queries = [job for job in self.jobs if job.is_query]
        if len(queries) > _QUERIES_KEPT:
            self.jobs.remove(queries[0])

    def _set(self, statement: s.SetOption) -> TableResult:
        if statement.reset:
            self.reset_option(statement.key)
        elif statement.key is None or statement.value is None:
            options = self.shown_options()
            shown = [key for key in sorted(options) if statement.key in (None, key)]
            return _texts(["key", "value"], [Row(key, options[key]) for key in shown])
        else:
            self.set_option(statement.key, statement.value)
            readers = [Reader.JOB, Reader.GATEWAY, *([] if self._is_remote else [Reader.CLUSTER])]
            for note in (doubt_about(statement.key), note_of_unread([statement.key], *readers)):
                if note is not None:
                    _logger.warning("SET: %s", note)
        return ok()

    def _job_row(self, job_id: str) -> Row:
        for row in self._job_rows():
            if row[0] == job_id:
                return row
        raise TableException(f"Described job {job_id} does not exist in the cluster.")

    def _stop(self, statement: s.StopJob) -> TableResult:
        self._job_row(statement.job_id)
        if self._is_remote:
            path = self._stop_remote(statement)
        else:
            (client,) = (job.client for job in self.jobs if str(job.client.get_job_id()) == statement.job_id)
            stop = client.stop_with_savepoint(statement.with_drain) if statement.with_savepoint else client.cancel()
            path = stop.result()
        return _texts(["savepoint path"], [Row(path)]) if statement.with_savepoint else ok()

    def _stop_remote(self, statement: s.StopJob) -> str | None:
        cluster = self.cluster()
        if not statement.with_savepoint:
            cluster.cancel(statement.job_id)
            return None
        trigger_id = cluster.trigger_stop(statement.job_id, None, statement.with_drain)
        return cluster.savepoint_location(statement.job_id, trigger_id)

    @property
    def _is_remote(self) -> bool:
        return self.get(EXECUTION_TARGET) == "remote"

    def _job_rows(self) -> list[Row]:
        if self._is_remote:
            return [
                Row(job["jid"], job["name"], job["state"], _time(job["start-time"]))
                for job in self.cluster().list_jobs()
            ]
        return [
            Row(
                str(job.client.get_job_id()), job.name, job.client.get_job_status().result().name, _time(job.started_ms)
            )
            for job in self.jobs
        ]

    def cluster(self) -> RestClusterClient:
        """Return a client of the cluster that runs the jobs of the session."""
        options = self._configuration.to_dict()
        return RestClusterClient(REST_ADDRESS.text_in(options) or DEFAULT_ADDRESS, os.environ.get(TOKEN), options)


def _check(key: str, value: str) -> None:
    if key == MODE and value.lower() not in _MODES:
        raise ValueError(f"option '{key}' is '{value}'; allowed: {', '.join(_MODES)}")
    check_option(key, value)


def _time(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(milliseconds / 1000))


def _texts(names: list[str], rows: list[Row]) -> TableResult:
    row_type = RowType([DataTypes.FIELD(name, DataTypes.STRING()) for name in names])
    return TableResult(row_type, rows, style=PrintStyle.WIDE)
